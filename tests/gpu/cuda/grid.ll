; ModuleID = 'grid.cu'
source_filename = "grid.cu"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

@arrived = dso_local addrspace(1) externally_initialized global i32 0, align 4
@partial = dso_local addrspace(1) externally_initialized global [4 x i32] zeroinitializer, align 4
@llvm.compiler.used = appending global [2 x ptr] [ptr addrspacecast (ptr addrspace(1) @arrived to ptr), ptr addrspacecast (ptr addrspace(1) @partial to ptr)], section "llvm.metadata"

; Function Attrs: convergent mustprogress noinline norecurse nounwind
define dso_local void @_Z12wait_for_allj(i32 noundef %0) local_unnamed_addr #0 {
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %2 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %3 = icmp eq i32 %2, 0
  br i1 %3, label %4, label %10

4:                                                ; preds = %1
  tail call void @llvm.nvvm.membar.gl()
  %5 = atomicrmw add ptr addrspacecast (ptr addrspace(1) @arrived to ptr), i32 1 seq_cst, align 4
  br label %6

6:                                                ; preds = %6, %4
  %7 = load volatile i32, ptr addrspacecast (ptr addrspace(1) @arrived to ptr), align 4, !tbaa !4
  %8 = icmp ult i32 %7, %0
  br i1 %8, label %6, label %9, !llvm.loop !8

9:                                                ; preds = %6
  tail call void @llvm.nvvm.membar.gl()
  br label %10

10:                                               ; preds = %9, %1
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  ret void
}

; Function Attrs: convergent nocallback nounwind
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32) #1

; Function Attrs: convergent mustprogress noinline norecurse nounwind
define dso_local ptx_kernel void @sum_of_blocks(ptr noundef captures(none) %0) local_unnamed_addr #2 {
  %2 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %3 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %4 = mul i32 %2, %3
  %5 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %6 = add i32 %4, %5
  %7 = zext i32 %6 to i64
  %8 = getelementptr inbounds nuw i32, ptr %0, i64 %7
  %9 = load i32, ptr %8, align 4, !tbaa !4
  br label %12

10:                                               ; preds = %12
  %11 = icmp eq i32 %5, 0
  br i1 %11, label %19, label %22

12:                                               ; preds = %1, %12
  %13 = phi i32 [ 16, %1 ], [ %17, %12 ]
  %14 = phi i32 [ %9, %1 ], [ %16, %12 ]
  %15 = tail call noundef i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %14, i32 %13, i32 31)
  %16 = add i32 %15, %14
  %17 = lshr i32 %13, 1
  %18 = icmp eq i32 %17, 0
  br i1 %18, label %10, label %12, !llvm.loop !11

19:                                               ; preds = %10
  %20 = zext nneg i32 %2 to i64
  %21 = getelementptr inbounds nuw i32, ptr addrspacecast (ptr addrspace(1) @partial to ptr), i64 %20
  store volatile i32 %16, ptr %21, align 4, !tbaa !4
  br label %22

22:                                               ; preds = %19, %10
  %23 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
  tail call void @_Z12wait_for_allj(i32 noundef %23) #7
  %24 = add nuw i32 %2, %5
  %25 = urem i32 %24, %23
  %26 = zext nneg i32 %25 to i64
  %27 = getelementptr inbounds nuw i32, ptr addrspacecast (ptr addrspace(1) @partial to ptr), i64 %26
  %28 = load volatile i32, ptr %27, align 4, !tbaa !4
  store i32 %28, ptr %8, align 4, !tbaa !4
  ret void
}

; Function Attrs: mustprogress nofree noinline norecurse nosync nounwind willreturn memory(readwrite, argmem: write, inaccessiblemem: none, target_mem0: none, target_mem1: none)
define dso_local ptx_kernel void @start_again(ptr noundef writeonly captures(none) %0) local_unnamed_addr #3 {
  %2 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %3 = tail call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %4 = or i32 %2, %3
  %5 = icmp eq i32 %4, 0
  br i1 %5, label %6, label %8

6:                                                ; preds = %1
  %7 = load i32, ptr addrspacecast (ptr addrspace(1) @arrived to ptr), align 4, !tbaa !4
  store i32 %7, ptr %0, align 4, !tbaa !4
  store i32 0, ptr addrspacecast (ptr addrspace(1) @arrived to ptr), align 4, !tbaa !4
  br label %8

8:                                                ; preds = %6, %1
  ret void
}

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.tid.x() #4

; Function Attrs: nocallback nounwind
declare void @llvm.nvvm.membar.gl() #5

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 2147483647) i32 @llvm.nvvm.read.ptx.sreg.ctaid.x() #4

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 1, 1025) i32 @llvm.nvvm.read.ptx.sreg.ntid.x() #4

; Function Attrs: convergent nocallback nounwind memory(inaccessiblemem: readwrite)
declare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32) #6

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 1, -2147483648) i32 @llvm.nvvm.read.ptx.sreg.nctaid.x() #4

attributes #0 = { convergent mustprogress noinline norecurse nounwind "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_90" "target-features"="+ptx88,+sm_90" }
attributes #1 = { convergent nocallback nounwind }
attributes #2 = { convergent mustprogress noinline norecurse nounwind "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_90" "target-features"="+ptx88,+sm_90" "uniform-work-group-size"="true" }
attributes #3 = { mustprogress nofree noinline norecurse nosync nounwind willreturn memory(readwrite, argmem: write, inaccessiblemem: none, target_mem0: none, target_mem1: none) "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_90" "target-features"="+ptx88,+sm_90" "uniform-work-group-size"="true" }
attributes #4 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #5 = { nocallback nounwind }
attributes #6 = { convergent nocallback nounwind memory(inaccessiblemem: readwrite) }
attributes #7 = { convergent nounwind }

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
