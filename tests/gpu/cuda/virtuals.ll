; ModuleID = 'virtuals.cu'
source_filename = "virtuals.cu"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

%struct.Square = type { %struct.Shape.base, [4 x i8] }
%struct.Shape.base = type <{ ptr, i32 }>
%struct.Triangle = type { %struct.Shape.base, [4 x i8] }

$_ZNK6Square4areaEj = comdat any

$_ZNK6Square7cornersEv = comdat any

$_ZNK5Shape4areaEj = comdat any

$_ZNK5Shape7cornersEv = comdat any

$_ZNK8Triangle4areaEj = comdat any

$_ZNK8Triangle7cornersEv = comdat any

$_ZTV6Square = comdat any

$_ZTV5Shape = comdat any

$_ZTV8Triangle = comdat any

@shapes = dso_local addrspace(1) externally_initialized global [3 x ptr] zeroinitializer, align 8
@operations = dso_local addrspace(1) externally_initialized global [3 x ptr] [ptr @_Z7doubledj, ptr @_Z7squaredj, ptr @_Z7doubledj], align 8
@fixed_operations = dso_local addrspace(4) externally_initialized constant [3 x ptr] [ptr @_Z7squaredj, ptr @_Z8invertedj, ptr @_Z7doubledj], align 8
@_ZTV6Square = linkonce_odr dso_local unnamed_addr constant { [4 x ptr] } { [4 x ptr] [ptr null, ptr null, ptr @_ZNK6Square4areaEj, ptr @_ZNK6Square7cornersEv] }, comdat, align 8
@_ZTV5Shape = linkonce_odr dso_local unnamed_addr constant { [4 x ptr] } { [4 x ptr] [ptr null, ptr null, ptr @_ZNK5Shape4areaEj, ptr @_ZNK5Shape7cornersEv] }, comdat, align 8
@_ZTV8Triangle = linkonce_odr dso_local unnamed_addr constant { [4 x ptr] } { [4 x ptr] [ptr null, ptr null, ptr @_ZNK8Triangle4areaEj, ptr @_ZNK8Triangle7cornersEv] }, comdat, align 8
@llvm.compiler.used = appending global [3 x ptr] [ptr addrspacecast (ptr addrspace(4) @fixed_operations to ptr), ptr addrspacecast (ptr addrspace(1) @operations to ptr), ptr addrspacecast (ptr addrspace(1) @shapes to ptr)], section "llvm.metadata"

; Function Attrs: mustprogress nofree norecurse nosync nounwind willreturn memory(none)
define dso_local noundef range(i32 0, -1) i32 @_Z7doubledj(i32 noundef %0) #0 {
  %2 = shl i32 %0, 1
  ret i32 %2
}

; Function Attrs: mustprogress nofree norecurse nosync nounwind willreturn memory(none)
define dso_local noundef i32 @_Z7squaredj(i32 noundef %0) #0 {
  %2 = mul i32 %0, %0
  ret i32 %2
}

; Function Attrs: mustprogress nofree norecurse nosync nounwind willreturn memory(none)
define dso_local noundef i32 @_Z8invertedj(i32 noundef %0) #0 {
  %2 = xor i32 %0, -1
  ret i32 %2
}

; Function Attrs: convergent mustprogress nofree noinline norecurse nounwind willreturn memory(write, argmem: read, inaccessiblemem: readwrite, target_mem0: none, target_mem1: none)
define dso_local ptx_kernel void @make_shapes(ptr noundef readonly captures(none) %0) local_unnamed_addr #1 {
  %2 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %3 = icmp eq i32 %2, 0
  br i1 %3, label %4, label %16

4:                                                ; preds = %1
  %5 = tail call noalias dereferenceable_or_null(16) ptr @malloc(i64 noundef 16) #10
  %6 = load i32, ptr %0, align 4, !tbaa !4
  store ptr getelementptr inbounds nuw inrange(-16, 16) (i8, ptr @_ZTV5Shape, i64 16), ptr %5, align 8, !tbaa !8
  %7 = getelementptr inbounds nuw i8, ptr %5, i64 8
  store i32 %6, ptr %7, align 8, !tbaa !10
  store ptr getelementptr inbounds nuw inrange(-16, 16) (i8, ptr @_ZTV6Square, i64 16), ptr %5, align 8, !tbaa !8
  store ptr %5, ptr addrspacecast (ptr addrspace(1) @shapes to ptr), align 8, !tbaa !12
  %8 = tail call noalias dereferenceable_or_null(16) ptr @malloc(i64 noundef 16) #10
  %9 = getelementptr inbounds nuw i8, ptr %0, i64 4
  %10 = load i32, ptr %9, align 4, !tbaa !4
  store ptr getelementptr inbounds nuw inrange(-16, 16) (i8, ptr @_ZTV5Shape, i64 16), ptr %8, align 8, !tbaa !8
  %11 = getelementptr inbounds nuw i8, ptr %8, i64 8
  store i32 %10, ptr %11, align 8, !tbaa !10
  store ptr getelementptr inbounds nuw inrange(-16, 16) (i8, ptr @_ZTV8Triangle, i64 16), ptr %8, align 8, !tbaa !8
  store ptr %8, ptr getelementptr inbounds nuw (i8, ptr addrspacecast (ptr addrspace(1) @shapes to ptr), i64 8), align 8, !tbaa !12
  %12 = tail call noalias dereferenceable_or_null(16) ptr @malloc(i64 noundef 16) #10
  %13 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %14 = load i32, ptr %13, align 4, !tbaa !4
  store ptr getelementptr inbounds nuw inrange(-16, 16) (i8, ptr @_ZTV5Shape, i64 16), ptr %12, align 8, !tbaa !8
  %15 = getelementptr inbounds nuw i8, ptr %12, i64 8
  store i32 %14, ptr %15, align 8, !tbaa !10
  store ptr %12, ptr getelementptr inbounds nuw (i8, ptr addrspacecast (ptr addrspace(1) @shapes to ptr), i64 16), align 8, !tbaa !12
  br label %16

16:                                               ; preds = %4, %1
  ret void
}

; Function Attrs: convergent mustprogress nofree nounwind willreturn allockind("alloc,uninitialized") allocsize(0) memory(inaccessiblemem: readwrite)
declare dso_local noalias noundef ptr @malloc(i64 noundef) local_unnamed_addr #2

; Function Attrs: convergent mustprogress noinline norecurse nounwind
define dso_local ptx_kernel void @use_shapes(ptr noundef captures(none) %0) local_unnamed_addr #3 {
  %2 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %3 = urem i32 %2, 3
  %4 = zext nneg i32 %3 to i64
  %5 = getelementptr inbounds nuw ptr, ptr addrspacecast (ptr addrspace(1) @shapes to ptr), i64 %4
  %6 = load ptr, ptr %5, align 8, !tbaa !12
  %7 = zext nneg i32 %2 to i64
  %8 = getelementptr inbounds nuw i32, ptr %0, i64 %7
  %9 = load i32, ptr %8, align 4, !tbaa !4
  %10 = load ptr, ptr %6, align 8, !tbaa !8
  %11 = load ptr, ptr %10, align 8
  %12 = tail call noundef i32 %11(ptr noundef nonnull align 8 dereferenceable(12) %6, i32 noundef %9) #11
  %13 = mul i32 %12, 10
  %14 = load ptr, ptr %6, align 8, !tbaa !8
  %15 = getelementptr inbounds nuw i8, ptr %14, i64 8
  %16 = load ptr, ptr %15, align 8
  %17 = tail call noundef i32 %16(ptr noundef nonnull align 8 dereferenceable(12) %6) #11
  %18 = add i32 %17, %13
  store i32 %18, ptr %8, align 4, !tbaa !4
  ret void
}

; Function Attrs: mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
declare void @llvm.lifetime.start.p0(ptr captures(none)) #4

; Function Attrs: mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
declare void @llvm.lifetime.end.p0(ptr captures(none)) #4

; Function Attrs: convergent mustprogress noinline norecurse nounwind
define dso_local ptx_kernel void @use_own_shapes(ptr noundef captures(none) %0) local_unnamed_addr #3 {
  %2 = alloca %struct.Square, align 8
  %3 = alloca %struct.Triangle, align 8
  call void @llvm.lifetime.start.p0(ptr nonnull %2) #12
  %4 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %5 = zext nneg i32 %4 to i64
  %6 = getelementptr inbounds nuw i32, ptr %0, i64 %5
  %7 = load i32, ptr %6, align 4, !tbaa !4
  store ptr getelementptr inbounds nuw inrange(-16, 16) (i8, ptr @_ZTV5Shape, i64 16), ptr %2, align 8, !tbaa !8
  %8 = getelementptr inbounds nuw i8, ptr %2, i64 8
  store i32 %7, ptr %8, align 8, !tbaa !10
  store ptr getelementptr inbounds nuw inrange(-16, 16) (i8, ptr @_ZTV6Square, i64 16), ptr %2, align 8, !tbaa !8
  call void @llvm.lifetime.start.p0(ptr nonnull %3) #12
  store ptr getelementptr inbounds nuw inrange(-16, 16) (i8, ptr @_ZTV5Shape, i64 16), ptr %3, align 8, !tbaa !8
  %9 = getelementptr inbounds nuw i8, ptr %3, i64 8
  store i32 %7, ptr %9, align 8, !tbaa !10
  store ptr getelementptr inbounds nuw inrange(-16, 16) (i8, ptr @_ZTV8Triangle, i64 16), ptr %3, align 8, !tbaa !8
  %10 = and i32 %4, 1
  %11 = icmp eq i32 %10, 0
  %12 = select i1 %11, ptr %3, ptr %2
  %13 = load ptr, ptr %12, align 8, !tbaa !8
  %14 = load ptr, ptr %13, align 8
  %15 = call noundef i32 %14(ptr noundef nonnull align 8 dereferenceable(12) %12, i32 noundef %4) #11
  %16 = load ptr, ptr %12, align 8, !tbaa !8
  %17 = getelementptr inbounds nuw i8, ptr %16, i64 8
  %18 = load ptr, ptr %17, align 8
  %19 = call noundef i32 %18(ptr noundef nonnull align 8 dereferenceable(12) %12) #11
  %20 = add i32 %19, %15
  store i32 %20, ptr %6, align 4, !tbaa !4
  call void @llvm.lifetime.end.p0(ptr nonnull %3) #12
  call void @llvm.lifetime.end.p0(ptr nonnull %2) #12
  ret void
}

; Function Attrs: convergent mustprogress noinline norecurse nounwind
define dso_local ptx_kernel void @free_shapes(ptr noundef writeonly captures(none) %0) local_unnamed_addr #3 {
  %2 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %3 = icmp samesign ult i32 %2, 3
  br i1 %3, label %4, label %14

4:                                                ; preds = %1
  %5 = zext nneg i32 %2 to i64
  %6 = getelementptr inbounds nuw ptr, ptr addrspacecast (ptr addrspace(1) @shapes to ptr), i64 %5
  %7 = load ptr, ptr %6, align 8, !tbaa !12
  %8 = load ptr, ptr %7, align 8, !tbaa !8
  %9 = getelementptr inbounds nuw i8, ptr %8, i64 8
  %10 = load ptr, ptr %9, align 8
  %11 = tail call noundef i32 %10(ptr noundef nonnull align 8 dereferenceable(12) %7) #11
  %12 = getelementptr inbounds nuw i32, ptr %0, i64 %5
  store i32 %11, ptr %12, align 4, !tbaa !4
  %13 = load ptr, ptr %6, align 8, !tbaa !12
  tail call void @free(ptr noundef %13) #11
  br label %14

14:                                               ; preds = %4, %1
  ret void
}

; Function Attrs: convergent mustprogress nounwind willreturn allockind("free") memory(argmem: readwrite, inaccessiblemem: readwrite)
declare dso_local void @free(ptr allocptr noundef captures(none)) local_unnamed_addr #5

; Function Attrs: mustprogress nofree noinline norecurse nosync nounwind willreturn memory(write, argmem: none, inaccessiblemem: none, target_mem0: none, target_mem1: none)
define dso_local ptx_kernel void @change_operations(ptr noundef readnone captures(none) %0) local_unnamed_addr #6 {
  %2 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %3 = icmp eq i32 %2, 0
  br i1 %3, label %4, label %5

4:                                                ; preds = %1
  store ptr @_Z8invertedj, ptr getelementptr inbounds nuw (i8, ptr addrspacecast (ptr addrspace(1) @operations to ptr), i64 16), align 8, !tbaa !15
  br label %5

5:                                                ; preds = %4, %1
  ret void
}

; Function Attrs: convergent mustprogress noinline norecurse nounwind
define dso_local ptx_kernel void @operate(ptr noundef captures(none) %0) local_unnamed_addr #3 {
  %2 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %3 = urem i32 %2, 3
  %4 = zext nneg i32 %3 to i64
  %5 = getelementptr inbounds nuw ptr, ptr addrspacecast (ptr addrspace(1) @operations to ptr), i64 %4
  %6 = load ptr, ptr %5, align 8, !tbaa !15
  %7 = zext nneg i32 %2 to i64
  %8 = getelementptr inbounds nuw i32, ptr %0, i64 %7
  %9 = load i32, ptr %8, align 4, !tbaa !4
  %10 = tail call noundef i32 %6(i32 noundef %9) #11
  %11 = add nuw nsw i32 %2, 1
  %12 = urem i32 %11, 3
  %13 = zext nneg i32 %12 to i64
  %14 = getelementptr inbounds nuw ptr, ptr addrspacecast (ptr addrspace(4) @fixed_operations to ptr), i64 %13
  %15 = load ptr, ptr %14, align 8, !tbaa !15
  %16 = tail call noundef i32 %15(i32 noundef %2) #11
  %17 = add i32 %16, %10
  store i32 %17, ptr %8, align 4, !tbaa !4
  ret void
}

; Function Attrs: mustprogress nofree noinline norecurse nosync nounwind willreturn memory(argmem: readwrite)
define dso_local ptx_kernel void @call_directly(ptr noundef captures(none) %0) local_unnamed_addr #7 {
  %2 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %3 = zext nneg i32 %2 to i64
  %4 = getelementptr inbounds nuw i32, ptr %0, i64 %3
  %5 = load i32, ptr %4, align 4, !tbaa !4
  %6 = mul i32 %5, %5
  %7 = add i32 %6, 6
  store i32 %7, ptr %4, align 4, !tbaa !4
  ret void
}

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.tid.x() #8

; Function Attrs: mustprogress nounwind
define linkonce_odr dso_local noundef i32 @_ZNK6Square4areaEj(ptr noundef nonnull align 8 dereferenceable(12) %0, i32 noundef %1) unnamed_addr #9 comdat align 2 {
  %3 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %4 = load i32, ptr %3, align 8, !tbaa !10
  %5 = mul i32 %4, %4
  %6 = add i32 %5, %1
  ret i32 %6
}

; Function Attrs: mustprogress nounwind
define linkonce_odr dso_local noundef i32 @_ZNK6Square7cornersEv(ptr noundef nonnull align 8 dereferenceable(12) %0) unnamed_addr #9 comdat align 2 {
  ret i32 4
}

; Function Attrs: mustprogress nounwind
define linkonce_odr dso_local noundef i32 @_ZNK5Shape4areaEj(ptr noundef nonnull align 8 dereferenceable(12) %0, i32 noundef %1) unnamed_addr #9 comdat align 2 {
  %3 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %4 = load i32, ptr %3, align 8, !tbaa !10
  %5 = add i32 %4, %1
  ret i32 %5
}

; Function Attrs: mustprogress nounwind
define linkonce_odr dso_local noundef i32 @_ZNK5Shape7cornersEv(ptr noundef nonnull align 8 dereferenceable(12) %0) unnamed_addr #9 comdat align 2 {
  ret i32 0
}

; Function Attrs: mustprogress nounwind
define linkonce_odr dso_local noundef i32 @_ZNK8Triangle4areaEj(ptr noundef nonnull align 8 dereferenceable(12) %0, i32 noundef %1) unnamed_addr #9 comdat align 2 {
  %3 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %4 = load i32, ptr %3, align 8, !tbaa !10
  %5 = mul i32 %4, %1
  %6 = lshr i32 %5, 1
  ret i32 %6
}

; Function Attrs: mustprogress nounwind
define linkonce_odr dso_local noundef i32 @_ZNK8Triangle7cornersEv(ptr noundef nonnull align 8 dereferenceable(12) %0) unnamed_addr #9 comdat align 2 {
  ret i32 3
}

attributes #0 = { mustprogress nofree norecurse nosync nounwind willreturn memory(none) "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_90" "target-features"="+ptx88,+sm_90" }
attributes #1 = { convergent mustprogress nofree noinline norecurse nounwind willreturn memory(write, argmem: read, inaccessiblemem: readwrite, target_mem0: none, target_mem1: none) "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_90" "target-features"="+ptx88,+sm_90" "uniform-work-group-size"="true" }
attributes #2 = { convergent mustprogress nofree nounwind willreturn allockind("alloc,uninitialized") allocsize(0) memory(inaccessiblemem: readwrite) "alloc-family"="malloc" "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_90" "target-features"="+ptx88,+sm_90" }
attributes #3 = { convergent mustprogress noinline norecurse nounwind "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_90" "target-features"="+ptx88,+sm_90" "uniform-work-group-size"="true" }
attributes #4 = { mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite) }
attributes #5 = { convergent mustprogress nounwind willreturn allockind("free") memory(argmem: readwrite, inaccessiblemem: readwrite) "alloc-family"="malloc" "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_90" "target-features"="+ptx88,+sm_90" }
attributes #6 = { mustprogress nofree noinline norecurse nosync nounwind willreturn memory(write, argmem: none, inaccessiblemem: none, target_mem0: none, target_mem1: none) "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_90" "target-features"="+ptx88,+sm_90" "uniform-work-group-size"="true" }
attributes #7 = { mustprogress nofree noinline norecurse nosync nounwind willreturn memory(argmem: readwrite) "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_90" "target-features"="+ptx88,+sm_90" "uniform-work-group-size"="true" }
attributes #8 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #9 = { mustprogress nounwind "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_90" "target-features"="+ptx88,+sm_90" }
attributes #10 = { convergent nounwind allocsize(0) }
attributes #11 = { convergent nounwind }
attributes #12 = { nounwind }

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
!8 = !{!9, !9, i64 0}
!9 = !{!"vtable pointer", !7, i64 0}
!10 = !{!11, !5, i64 8}
!11 = !{!"_ZTS5Shape", !5, i64 8}
!12 = !{!13, !13, i64 0}
!13 = !{!"p1 _ZTS5Shape", !14, i64 0}
!14 = !{!"any pointer", !6, i64 0}
!15 = !{!14, !14, i64 0}
