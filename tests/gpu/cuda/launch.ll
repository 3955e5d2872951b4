; ModuleID = 'launch.cu'
source_filename = "launch.cu"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

%struct.Settings = type { i32, [5 x i32], double }

@steps = dso_local addrspace(1) externally_initialized global [2 x ptr] [ptr @_Z5mixedjj, ptr @_Z5addedjj], align 8
@llvm.compiler.used = appending global [1 x ptr] [ptr addrspacecast (ptr addrspace(1) @steps to ptr)], section "llvm.metadata"

; Function Attrs: mustprogress nofree noinline norecurse nosync nounwind willreturn memory(none)
define dso_local noundef i32 @_Z5mixedjj(i32 noundef %0, i32 noundef %1) #0 {
  %3 = alloca [24 x i32], align 4
  call void @llvm.lifetime.start.p0(ptr nonnull %3) #9
  br label %6

4:                                                ; preds = %6
  %5 = add i32 %1, 1
  br label %15

6:                                                ; preds = %2, %6
  %7 = phi i32 [ 0, %2 ], [ %8, %6 ]
  %8 = add nuw nsw i32 %7, 1
  %9 = mul i32 %8, %0
  %10 = xor i32 %7, %1
  %11 = add i32 %9, %10
  %12 = zext nneg i32 %7 to i64
  %13 = getelementptr inbounds nuw i32, ptr %3, i64 %12
  store i32 %11, ptr %13, align 4, !tbaa !4
  %14 = icmp eq i32 %8, 24
  br i1 %14, label %4, label %6, !llvm.loop !8

15:                                               ; preds = %4, %17
  %16 = phi i32 [ 0, %4 ], [ %18, %17 ]
  br label %20

17:                                               ; preds = %20
  %18 = add nuw nsw i32 %16, 1
  %19 = icmp eq i32 %18, 6
  br i1 %19, label %42, label %15, !llvm.loop !11

20:                                               ; preds = %15, %20
  %21 = phi i32 [ 0, %15 ], [ %39, %20 ]
  %22 = zext nneg i32 %21 to i64
  %23 = getelementptr inbounds nuw i32, ptr %3, i64 %22
  %24 = load i32, ptr %23, align 4, !tbaa !4
  %25 = add nuw nsw i32 %21, 7
  %26 = urem i32 %25, 24
  %27 = zext nneg i32 %26 to i64
  %28 = getelementptr inbounds nuw i32, ptr %3, i64 %27
  %29 = load i32, ptr %28, align 4, !tbaa !4
  %30 = mul i32 %29, %24
  %31 = add nuw nsw i32 %21, 11
  %32 = urem i32 %31, 24
  %33 = zext nneg i32 %32 to i64
  %34 = getelementptr inbounds nuw i32, ptr %3, i64 %33
  %35 = load i32, ptr %34, align 4, !tbaa !4
  %36 = add i32 %5, %21
  %37 = udiv i32 %35, %36
  %38 = add i32 %37, %30
  store i32 %38, ptr %23, align 4, !tbaa !4
  %39 = add nuw nsw i32 %21, 1
  %40 = icmp eq i32 %39, 24
  br i1 %40, label %17, label %20, !llvm.loop !12

41:                                               ; preds = %42
  call void @llvm.lifetime.end.p0(ptr nonnull %3) #9
  ret i32 %48

42:                                               ; preds = %17, %42
  %43 = phi i32 [ %49, %42 ], [ 0, %17 ]
  %44 = phi i32 [ %48, %42 ], [ 0, %17 ]
  %45 = zext nneg i32 %43 to i64
  %46 = getelementptr inbounds nuw i32, ptr %3, i64 %45
  %47 = load i32, ptr %46, align 4, !tbaa !4
  %48 = xor i32 %47, %44
  %49 = add nuw nsw i32 %43, 1
  %50 = icmp eq i32 %49, 24
  br i1 %50, label %41, label %42, !llvm.loop !13
}

; Function Attrs: mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
declare void @llvm.lifetime.start.p0(ptr captures(none)) #1

; Function Attrs: mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
declare void @llvm.lifetime.end.p0(ptr captures(none)) #1

; Function Attrs: mustprogress nofree norecurse nosync nounwind willreturn memory(none)
define dso_local noundef i32 @_Z5addedjj(i32 noundef %0, i32 noundef %1) #2 {
  %3 = add i32 %1, %0
  ret i32 %3
}

; Function Attrs: convergent mustprogress noinline norecurse nounwind
define dso_local ptx_kernel void @bounded(ptr noundef captures(none) %0) local_unnamed_addr #3 {
  %2 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %3 = zext nneg i32 %2 to i64
  %4 = getelementptr inbounds nuw i32, ptr %0, i64 %3
  %5 = load i32, ptr %4, align 4, !tbaa !4
  %6 = and i32 %5, 1
  %7 = zext nneg i32 %6 to i64
  %8 = getelementptr inbounds nuw ptr, ptr addrspacecast (ptr addrspace(1) @steps to ptr), i64 %7
  %9 = load ptr, ptr %8, align 8, !tbaa !14
  %10 = tail call noundef i32 %9(i32 noundef %5, i32 noundef %2) #10
  store i32 %10, ptr %4, align 4, !tbaa !4
  ret void
}

; Function Attrs: convergent mustprogress noinline norecurse nounwind
define dso_local ptx_kernel void @bounded_more(ptr noundef captures(none) %0) local_unnamed_addr #4 {
  %2 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %3 = zext nneg i32 %2 to i64
  %4 = getelementptr inbounds nuw i32, ptr %0, i64 %3
  %5 = load i32, ptr %4, align 4, !tbaa !4
  %6 = tail call noundef i32 @_Z5mixedjj(i32 noundef %5, i32 noundef %2) #9
  %7 = and i32 %2, 1
  %8 = zext nneg i32 %7 to i64
  %9 = getelementptr inbounds nuw ptr, ptr addrspacecast (ptr addrspace(1) @steps to ptr), i64 %8
  %10 = load ptr, ptr %9, align 8, !tbaa !14
  %11 = tail call noundef i32 %10(i32 noundef 3, i32 noundef %5) #10
  %12 = add i32 %11, %6
  store i32 %12, ptr %4, align 4, !tbaa !4
  ret void
}

; Function Attrs: mustprogress nofree noinline norecurse nosync nounwind willreturn memory(argmem: readwrite)
define dso_local ptx_kernel void @bounded_directly(ptr noundef captures(none) %0) local_unnamed_addr #5 {
  %2 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %3 = zext nneg i32 %2 to i64
  %4 = getelementptr inbounds nuw i32, ptr %0, i64 %3
  %5 = load i32, ptr %4, align 4, !tbaa !4
  %6 = or i32 %2, 1
  %7 = tail call noundef i32 @_Z5mixedjj(i32 noundef %5, i32 noundef %6) #9
  store i32 %7, ptr %4, align 4, !tbaa !4
  ret void
}

; Function Attrs: mustprogress nofree noinline norecurse nosync nounwind willreturn memory(argmem: read)
define dso_local noundef i32 @_Z7appliedRK8Settingsj(ptr noundef nonnull readonly align 8 captures(none) dereferenceable(32) %0, i32 noundef %1) local_unnamed_addr #6 {
  %3 = load i32, ptr %0, align 8, !tbaa !16
  %4 = mul i32 %3, %1
  %5 = getelementptr inbounds nuw i8, ptr %0, i64 4
  %6 = urem i32 %1, 5
  %7 = zext nneg i32 %6 to i64
  %8 = getelementptr inbounds nuw i32, ptr %5, i64 %7
  %9 = load i32, ptr %8, align 4, !tbaa !4
  %10 = add i32 %4, %9
  %11 = getelementptr inbounds nuw i8, ptr %0, i64 24
  %12 = load double, ptr %11, align 8, !tbaa !19
  %13 = uitofp i32 %1 to double
  %14 = fmul contract double %12, %13
  %15 = fptoui double %14 to i32
  %16 = add i32 %10, %15
  ret i32 %16
}

; Function Attrs: mustprogress nofree noinline norecurse nosync nounwind willreturn memory(argmem: readwrite)
define dso_local ptx_kernel void @by_value(ptr noundef captures(none) %0, ptr noundef nonnull readonly byval(%struct.Settings) align 8 captures(none) %1) local_unnamed_addr #7 {
  %3 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %4 = zext nneg i32 %3 to i64
  %5 = getelementptr inbounds nuw i32, ptr %0, i64 %4
  %6 = load i32, ptr %5, align 4, !tbaa !4
  %7 = call noundef i32 @_Z7appliedRK8Settingsj(ptr noundef nonnull align 8 dereferenceable(32) %1, i32 noundef %6) #9
  store i32 %7, ptr %5, align 4, !tbaa !4
  ret void
}

; Function Attrs: mustprogress nofree noinline norecurse nosync nounwind willreturn memory(argmem: readwrite)
define dso_local ptx_kernel void @by_value_and_changed(ptr noundef captures(none) %0, ptr noundef nonnull byval(%struct.Settings) align 8 captures(none) %1) local_unnamed_addr #7 {
  %3 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %4 = zext nneg i32 %3 to i64
  %5 = getelementptr inbounds nuw i32, ptr %0, i64 %4
  %6 = load i32, ptr %5, align 4, !tbaa !4
  %7 = getelementptr inbounds nuw i8, ptr %1, i64 4
  %8 = urem i32 %3, 5
  %9 = zext nneg i32 %8 to i64
  %10 = getelementptr inbounds nuw i32, ptr %7, i64 %9
  %11 = load i32, ptr %10, align 4, !tbaa !4
  %12 = add i32 %11, %6
  store i32 %12, ptr %10, align 4, !tbaa !4
  %13 = load i32, ptr %1, align 8, !tbaa !16
  %14 = xor i32 %13, %3
  store i32 %14, ptr %1, align 8, !tbaa !16
  %15 = call noundef i32 @_Z7appliedRK8Settingsj(ptr noundef nonnull align 8 dereferenceable(32) %1, i32 noundef %3) #9
  store i32 %15, ptr %5, align 4, !tbaa !4
  ret void
}

; Function Attrs: mustprogress nofree noinline norecurse nosync nounwind willreturn memory(argmem: readwrite)
define dso_local ptx_kernel void @grid_constant(ptr noundef captures(none) %0, ptr noundef nonnull readonly byval(%struct.Settings) align 8 captures(none) "nvvm.grid_constant" %1) local_unnamed_addr #7 {
  %3 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %4 = zext nneg i32 %3 to i64
  %5 = getelementptr inbounds nuw i32, ptr %0, i64 %4
  %6 = load i32, ptr %5, align 4, !tbaa !4
  %7 = call noundef i32 @_Z7appliedRK8Settingsj(ptr noundef nonnull align 8 dereferenceable(32) %1, i32 noundef %6) #9
  %8 = mul i32 %7, 3
  store i32 %8, ptr %5, align 4, !tbaa !4
  ret void
}

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.tid.x() #8

attributes #0 = { mustprogress nofree noinline norecurse nosync nounwind willreturn memory(none) "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_90" "target-features"="+ptx88,+sm_90" }
attributes #1 = { mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite) }
attributes #2 = { mustprogress nofree norecurse nosync nounwind willreturn memory(none) "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_90" "target-features"="+ptx88,+sm_90" }
attributes #3 = { convergent mustprogress noinline norecurse nounwind "frame-pointer"="all" "no-trapping-math"="true" "nvvm.maxntid"="1024" "nvvm.minctasm"="1" "stack-protector-buffer-size"="8" "target-cpu"="sm_90" "target-features"="+ptx88,+sm_90" "uniform-work-group-size"="true" }
attributes #4 = { convergent mustprogress noinline norecurse nounwind "frame-pointer"="all" "no-trapping-math"="true" "nvvm.maxntid"="256" "nvvm.minctasm"="4" "stack-protector-buffer-size"="8" "target-cpu"="sm_90" "target-features"="+ptx88,+sm_90" "uniform-work-group-size"="true" }
attributes #5 = { mustprogress nofree noinline norecurse nosync nounwind willreturn memory(argmem: readwrite) "frame-pointer"="all" "no-trapping-math"="true" "nvvm.maxntid"="64" "stack-protector-buffer-size"="8" "target-cpu"="sm_90" "target-features"="+ptx88,+sm_90" "uniform-work-group-size"="true" }
attributes #6 = { mustprogress nofree noinline norecurse nosync nounwind willreturn memory(argmem: read) "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_90" "target-features"="+ptx88,+sm_90" }
attributes #7 = { mustprogress nofree noinline norecurse nosync nounwind willreturn memory(argmem: readwrite) "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_90" "target-features"="+ptx88,+sm_90" "uniform-work-group-size"="true" }
attributes #8 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #9 = { nounwind }
attributes #10 = { convergent nounwind }

!llvm.module.flags = !{!0, !1, !2}
!llvm.ident = !{!3}
!llvm.errno.tbaa = !{!4}

!0 = !{i32 1, !"wchar_size", i32 4}
!1 = !{i32 4, !"nvvm-reflect-ftz", i32 0}
!2 = !{i32 7, !"frame-pointer", i32 2}
!3 = !{!"Debian clang version 22.1.8 (1~deb12u1)"}
!4 = !{!5, !5, i64 0}
!5 = !{!"int", !6, i64 0}
!6 = !{!"omnipotent char", !7, i64 0}
!7 = !{!"Simple C++ TBAA"}
!8 = distinct !{!8, !9, !10}
!9 = !{!"llvm.loop.mustprogress"}
!10 = !{!"llvm.loop.unroll.disable"}
!11 = distinct !{!11, !9, !10}
!12 = distinct !{!12, !9, !10}
!13 = distinct !{!13, !9, !10}
!14 = !{!15, !15, i64 0}
!15 = !{!"any pointer", !6, i64 0}
!16 = !{!17, !5, i64 0}
!17 = !{!"_ZTS8Settings", !5, i64 0, !6, i64 4, !18, i64 24}
!18 = !{!"double", !6, i64 0}
!19 = !{!17, !18, i64 24}
