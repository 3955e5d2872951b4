; ModuleID = 'warp.cu'
source_filename = "warp.cu"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

; Function Attrs: mustprogress nofree norecurse nosync nounwind willreturn memory(none)
define dso_local noundef range(i32 0, 32) i32 @_Z4lanev() local_unnamed_addr #0 {
  %1 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %2 = and i32 %1, 31
  ret i32 %2
}

; Function Attrs: convergent mustprogress noinline norecurse nounwind memory(inaccessiblemem: readwrite)
define dso_local noundef i32 @_Z7rotatedjjj(i32 noundef %0, i32 noundef %1, i32 noundef %2) local_unnamed_addr #1 {
  %4 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %5 = add i32 %2, %4
  %6 = and i32 %5, 31
  %7 = tail call noundef i32 @llvm.nvvm.shfl.sync.idx.i32(i32 %0, i32 %1, i32 %6, i32 31)
  ret i32 %7
}

; Function Attrs: convergent mustprogress noinline norecurse nounwind memory(argmem: readwrite, inaccessiblemem: readwrite)
define dso_local ptx_kernel void @shuffle_all(ptr noundef captures(none) %0) local_unnamed_addr #2 {
  %2 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %3 = zext nneg i32 %2 to i64
  %4 = getelementptr inbounds nuw i32, ptr %0, i64 %3
  %5 = load i32, ptr %4, align 4, !tbaa !4
  %6 = tail call noundef i32 @llvm.nvvm.shfl.sync.up.i32(i32 -1, i32 %5, i32 3, i32 0)
  %7 = add i32 %6, %5
  %8 = tail call noundef i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %7, i32 5, i32 31)
  %9 = xor i32 %7, %8
  %10 = tail call noundef i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %9, i32 9, i32 4127)
  %11 = mul i32 %10, 3
  %12 = add i32 %11, %9
  %13 = tail call noundef i32 @_Z7rotatedjjj(i32 noundef -1, i32 noundef %12, i32 noundef 7) #8
  store i32 %13, ptr %4, align 4, !tbaa !4
  ret void
}

; Function Attrs: convergent mustprogress noinline norecurse nounwind
define dso_local ptx_kernel void @shuffle_some(ptr noundef captures(none) %0) local_unnamed_addr #3 {
  %2 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %3 = zext nneg i32 %2 to i64
  %4 = getelementptr inbounds nuw i32, ptr %0, i64 %3
  %5 = load i32, ptr %4, align 4, !tbaa !4
  %6 = and i32 %5, 2
  %7 = icmp ne i32 %6, 0
  %8 = tail call noundef i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 %7)
  %9 = icmp eq i32 %6, 0
  br i1 %9, label %36, label %10

10:                                               ; preds = %1
  %11 = tail call noundef i32 @__nv_ffs(i32 noundef %8) #8
  %12 = add nsw i32 %11, -1
  %13 = tail call noundef i32 @llvm.nvvm.shfl.sync.idx.i32(i32 %8, i32 %5, i32 %12, i32 31)
  %14 = add i32 %13, %5
  %15 = tail call noundef i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 %8, i32 %14, i32 0, i32 31)
  %16 = mul i32 %15, 5
  %17 = tail call noundef i32 @_Z7rotatedjjj(i32 noundef %8, i32 noundef %14, i32 noundef 0) #8
  %18 = add i32 %16, %17
  %19 = uitofp i32 %18 to double
  %20 = fdiv contract double 1.000000e+00, %19
  %21 = tail call noundef i32 @__nv_clz(i32 noundef %8) #8
  %22 = sub nsw i32 31, %21
  %23 = bitcast double %20 to i64
  %24 = trunc i64 %23 to i32
  %25 = lshr i64 %23, 32
  %26 = trunc nuw nsw i64 %25 to i32
  %27 = tail call noundef i32 @llvm.nvvm.shfl.sync.idx.i32(i32 %8, i32 %24, i32 %22, i32 31)
  %28 = tail call noundef i32 @llvm.nvvm.shfl.sync.idx.i32(i32 %8, i32 %26, i32 %22, i32 31)
  %29 = zext i32 %28 to i64
  %30 = shl nuw i64 %29, 32
  %31 = zext i32 %27 to i64
  %32 = or disjoint i64 %30, %31
  %33 = bitcast i64 %32 to double
  %34 = tail call noundef i32 @__nv_double2hiint(double noundef %33) #8
  %35 = xor i32 %34, %18
  br label %36

36:                                               ; preds = %10, %1
  %37 = phi i32 [ %35, %10 ], [ %5, %1 ]
  store i32 %37, ptr %4, align 4, !tbaa !4
  ret void
}

; Function Attrs: convergent mustprogress noinline norecurse nounwind
define dso_local ptx_kernel void @vote_all(ptr noundef captures(none) %0) local_unnamed_addr #3 {
  %2 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %3 = zext nneg i32 %2 to i64
  %4 = getelementptr inbounds nuw i32, ptr %0, i64 %3
  %5 = load i32, ptr %4, align 4, !tbaa !4
  %6 = urem i32 %5, 3
  %7 = icmp eq i32 %6, 0
  %8 = tail call noundef i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 %7)
  %9 = icmp ne i32 %5, 0
  %10 = tail call i1 @llvm.nvvm.vote.all.sync(i32 -1, i1 %9)
  %11 = select i1 %10, i32 2, i32 0
  %12 = add i32 %11, %8
  %13 = icmp eq i32 %5, 11
  %14 = tail call i1 @llvm.nvvm.vote.any.sync(i32 -1, i1 %13)
  %15 = select i1 %14, i32 4, i32 0
  %16 = add i32 %12, %15
  %17 = tail call noundef i32 @llvm.nvvm.activemask()
  %18 = tail call noundef i32 @__nv_popc(i32 noundef %17) #8
  %19 = add i32 %16, %18
  store i32 %19, ptr %4, align 4, !tbaa !4
  ret void
}

; Function Attrs: convergent mustprogress noinline norecurse nounwind
define dso_local ptx_kernel void @vote_some(ptr noundef captures(none) %0) local_unnamed_addr #3 {
  %2 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %3 = zext nneg i32 %2 to i64
  %4 = getelementptr inbounds nuw i32, ptr %0, i64 %3
  %5 = load i32, ptr %4, align 4, !tbaa !4
  %6 = and i32 %2, 16
  %7 = icmp eq i32 %6, 0
  br i1 %7, label %8, label %25

8:                                                ; preds = %1
  %9 = and i32 %2, 1
  %10 = shl nuw nsw i32 21845, %9
  %11 = urem i32 %5, 5
  %12 = icmp eq i32 %11, 1
  %13 = tail call noundef i32 @llvm.nvvm.vote.ballot.sync(i32 %10, i1 %12)
  %14 = mul i32 %13, 7
  %15 = and i32 %5, 1
  %16 = icmp ne i32 %15, 0
  %17 = tail call i1 @llvm.nvvm.vote.all.sync(i32 %10, i1 %16)
  %18 = zext i1 %17 to i32
  %19 = add i32 %14, %18
  %20 = urem i32 %5, 7
  %21 = icmp eq i32 %20, 0
  %22 = tail call i1 @llvm.nvvm.vote.any.sync(i32 %10, i1 %21)
  %23 = select i1 %22, i32 2, i32 0
  %24 = add i32 %19, %23
  tail call void @llvm.nvvm.bar.warp.sync(i32 %10)
  br label %25

25:                                               ; preds = %8, %1
  %26 = phi i32 [ %24, %8 ], [ %5, %1 ]
  store i32 %26, ptr %4, align 4, !tbaa !4
  ret void
}

; Function Attrs: convergent mustprogress noinline norecurse nounwind memory(argmem: readwrite, inaccessiblemem: readwrite)
define dso_local ptx_kernel void @match(ptr noundef captures(none) %0) local_unnamed_addr #2 {
  %2 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %3 = zext nneg i32 %2 to i64
  %4 = getelementptr inbounds nuw i32, ptr %0, i64 %3
  %5 = load i32, ptr %4, align 4, !tbaa !4
  %6 = urem i32 %5, 6
  %7 = tail call noundef i32 @llvm.nvvm.match.any.sync.i32(i32 -1, i32 range(i32 0, 6) %6)
  %8 = tail call { i32, i1 } @llvm.nvvm.match.all.sync.i32p(i32 %7, i32 range(i32 0, 6) %6)
  %9 = extractvalue { i32, i1 } %8, 1
  %10 = zext i1 %9 to i32
  %11 = extractvalue { i32, i1 } %8, 0
  %12 = zext nneg i32 %6 to i64
  %13 = shl nuw nsw i64 %12, 33
  %14 = tail call noundef i32 @llvm.nvvm.match.any.sync.i64(i32 -1, i64 range(i64 0, 42949672961) %13)
  %15 = mul i32 %11, 3
  %16 = add i32 %15, %7
  %17 = add i32 %16, %10
  %18 = icmp eq i32 %14, %7
  %19 = zext i1 %18 to i32
  %20 = add i32 %17, %19
  store i32 %20, ptr %4, align 4, !tbaa !4
  ret void
}

; Function Attrs: convergent mustprogress noinline norecurse nounwind memory(argmem: readwrite, inaccessiblemem: readwrite)
define dso_local ptx_kernel void @reduce(ptr noundef captures(none) %0) local_unnamed_addr #2 {
  %2 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %3 = zext nneg i32 %2 to i64
  %4 = getelementptr inbounds nuw i32, ptr %0, i64 %3
  %5 = load i32, ptr %4, align 4, !tbaa !4
  %6 = and i32 %5, 3
  %7 = tail call noundef i32 @llvm.nvvm.match.any.sync.i32(i32 -1, i32 range(i32 0, 6) %6)
  %8 = tail call noundef i32 @llvm.nvvm.redux.sync.add(i32 %5, i32 %7)
  %9 = tail call noundef i32 @llvm.nvvm.redux.sync.umax(i32 %5, i32 %7)
  %10 = mul i32 %9, 3
  %11 = add i32 %10, %8
  %12 = tail call noundef i32 @llvm.nvvm.redux.sync.umin(i32 %5, i32 %7)
  %13 = mul i32 %12, 5
  %14 = add i32 %11, %13
  %15 = tail call noundef i32 @llvm.nvvm.redux.sync.xor(i32 %5, i32 -1)
  %16 = xor i32 %14, %15
  %17 = or i32 %5, 8
  %18 = tail call noundef i32 @llvm.nvvm.redux.sync.and(i32 %17, i32 %7)
  %19 = shl i32 %18, 7
  %20 = xor i32 %16, %19
  %21 = tail call noundef i32 @llvm.nvvm.redux.sync.or(i32 %5, i32 %7)
  %22 = xor i32 %20, %21
  store i32 %22, ptr %4, align 4, !tbaa !4
  ret void
}

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.tid.x() #4

; Function Attrs: convergent nocallback nounwind memory(inaccessiblemem: readwrite)
declare i32 @llvm.nvvm.shfl.sync.idx.i32(i32, i32, i32, i32) #5

; Function Attrs: convergent nocallback nounwind memory(inaccessiblemem: readwrite)
declare i32 @llvm.nvvm.shfl.sync.up.i32(i32, i32, i32, i32) #5

; Function Attrs: convergent nocallback nounwind memory(inaccessiblemem: readwrite)
declare i32 @llvm.nvvm.shfl.sync.down.i32(i32, i32, i32, i32) #5

; Function Attrs: convergent nocallback nounwind memory(inaccessiblemem: readwrite)
declare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32) #5

; Function Attrs: convergent nocallback nounwind memory(inaccessiblemem: readwrite)
declare i32 @llvm.nvvm.vote.ballot.sync(i32, i1) #5

; Function Attrs: convergent nounwind
declare dso_local i32 @__nv_ffs(i32 noundef) local_unnamed_addr #6

; Function Attrs: convergent nounwind
declare dso_local i32 @__nv_clz(i32 noundef) local_unnamed_addr #6

; Function Attrs: convergent nounwind
declare dso_local i32 @__nv_double2hiint(double noundef) local_unnamed_addr #6

; Function Attrs: convergent nocallback nounwind memory(inaccessiblemem: readwrite)
declare i1 @llvm.nvvm.vote.all.sync(i32, i1) #5

; Function Attrs: convergent nocallback nounwind memory(inaccessiblemem: readwrite)
declare i1 @llvm.nvvm.vote.any.sync(i32, i1) #5

; Function Attrs: convergent nounwind
declare dso_local i32 @__nv_popc(i32 noundef) local_unnamed_addr #6

; Function Attrs: convergent nocallback nounwind memory(inaccessiblemem: readwrite)
declare i32 @llvm.nvvm.activemask() #5

; Function Attrs: convergent nocallback nounwind
declare void @llvm.nvvm.bar.warp.sync(i32) #7

; Function Attrs: convergent nocallback nounwind memory(inaccessiblemem: readwrite)
declare i32 @llvm.nvvm.match.any.sync.i32(i32, i32) #5

; Function Attrs: convergent nocallback nounwind memory(inaccessiblemem: readwrite)
declare { i32, i1 } @llvm.nvvm.match.all.sync.i32p(i32, i32) #5

; Function Attrs: convergent nocallback nounwind memory(inaccessiblemem: readwrite)
declare i32 @llvm.nvvm.match.any.sync.i64(i32, i64) #5

; Function Attrs: convergent nocallback nounwind memory(inaccessiblemem: readwrite)
declare i32 @llvm.nvvm.redux.sync.add(i32, i32) #5

; Function Attrs: convergent nocallback nounwind memory(inaccessiblemem: readwrite)
declare i32 @llvm.nvvm.redux.sync.umax(i32, i32) #5

; Function Attrs: convergent nocallback nounwind memory(inaccessiblemem: readwrite)
declare i32 @llvm.nvvm.redux.sync.umin(i32, i32) #5

; Function Attrs: convergent nocallback nounwind memory(inaccessiblemem: readwrite)
declare i32 @llvm.nvvm.redux.sync.xor(i32, i32) #5

; Function Attrs: convergent nocallback nounwind memory(inaccessiblemem: readwrite)
declare i32 @llvm.nvvm.redux.sync.and(i32, i32) #5

; Function Attrs: convergent nocallback nounwind memory(inaccessiblemem: readwrite)
declare i32 @llvm.nvvm.redux.sync.or(i32, i32) #5

attributes #0 = { mustprogress nofree norecurse nosync nounwind willreturn memory(none) "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_90" "target-features"="+ptx88,+sm_90" }
attributes #1 = { convergent mustprogress noinline norecurse nounwind memory(inaccessiblemem: readwrite) "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_90" "target-features"="+ptx88,+sm_90" }
attributes #2 = { convergent mustprogress noinline norecurse nounwind memory(argmem: readwrite, inaccessiblemem: readwrite) "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_90" "target-features"="+ptx88,+sm_90" "uniform-work-group-size"="true" }
attributes #3 = { convergent mustprogress noinline norecurse nounwind "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_90" "target-features"="+ptx88,+sm_90" "uniform-work-group-size"="true" }
attributes #4 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #5 = { convergent nocallback nounwind memory(inaccessiblemem: readwrite) }
attributes #6 = { convergent nounwind "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_90" "target-features"="+ptx88,+sm_90" }
attributes #7 = { convergent nocallback nounwind }
attributes #8 = { convergent nounwind }

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
