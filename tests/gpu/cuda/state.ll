; ModuleID = 'state.cu'
source_filename = "state.cu"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

%struct.Links = type { ptr, ptr, i32 }

@counter = dso_local addrspace(1) externally_initialized global i32 100, align 4
@history = dso_local addrspace(1) externally_initialized global [32 x i32] zeroinitializer, align 4
@total = dso_local addrspace(1) externally_initialized global float 5.000000e-01, align 4
@largest = dso_local addrspace(1) externally_initialized global i64 0, align 8
@_ZL5seeds = internal addrspace(4) constant [4 x i32] [i32 3, i32 1, i32 4, i32 1], align 4
@links = dso_local addrspace(1) externally_initialized global %struct.Links { ptr addrspacecast (ptr addrspace(1) @counter to ptr), ptr addrspacecast (ptr addrspace(4) @_ZL5seeds to ptr), i32 9 }, align 8
@_ZZ5callsvE6number = internal addrspace(1) global i32 1000, align 4
@_ZL6hidden = internal addrspace(1) global i32 7, align 4
@llvm.compiler.used = appending global [5 x ptr] [ptr addrspacecast (ptr addrspace(1) @counter to ptr), ptr addrspacecast (ptr addrspace(1) @history to ptr), ptr addrspacecast (ptr addrspace(1) @largest to ptr), ptr addrspacecast (ptr addrspace(1) @links to ptr), ptr addrspacecast (ptr addrspace(1) @total to ptr)], section "llvm.metadata"

; Function Attrs: mustprogress nofree noinline norecurse nounwind willreturn memory(readwrite, argmem: none, inaccessiblemem: none, target_mem0: none, target_mem1: none)
define dso_local noundef i32 @_Z5callsv() local_unnamed_addr #0 {
  %1 = atomicrmw add ptr addrspacecast (ptr addrspace(1) @_ZZ5callsvE6number to ptr), i32 1 seq_cst, align 4
  ret i32 %1
}

; Function Attrs: mustprogress nofree noinline norecurse nounwind willreturn memory(readwrite, inaccessiblemem: none, target_mem0: none, target_mem1: none)
define dso_local ptx_kernel void @count(ptr noundef captures(none) %0) local_unnamed_addr #1 {
  %2 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %3 = zext nneg i32 %2 to i64
  %4 = getelementptr inbounds nuw i32, ptr %0, i64 %3
  %5 = load i32, ptr %4, align 4, !tbaa !4
  %6 = atomicrmw add ptr addrspacecast (ptr addrspace(1) @counter to ptr), i32 %5 seq_cst, align 4
  %7 = load i32, ptr %4, align 4, !tbaa !4
  %8 = zext i32 %7 to i64
  %9 = shl i64 %8, 34
  %10 = atomicrmw umax ptr addrspacecast (ptr addrspace(1) @largest to ptr), i64 %9 seq_cst, align 8
  %11 = icmp eq i32 %2, 0
  br i1 %11, label %12, label %14

12:                                               ; preds = %1
  %13 = tail call noundef i32 @_Z5callsv() #8
  store i32 %13, ptr %0, align 4, !tbaa !4
  br label %14

14:                                               ; preds = %12, %1
  ret void
}

; Function Attrs: mustprogress nofree noinline norecurse nounwind willreturn memory(readwrite, inaccessiblemem: none, target_mem0: none, target_mem1: none)
define dso_local ptx_kernel void @count_backwards(ptr noundef captures(none) %0) local_unnamed_addr #1 {
  %2 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %3 = zext nneg i32 %2 to i64
  %4 = getelementptr inbounds nuw i32, ptr %0, i64 %3
  %5 = load i32, ptr %4, align 4, !tbaa !4
  %6 = udiv i32 %5, 3
  %7 = sub nsw i32 0, %6
  %8 = atomicrmw add ptr addrspacecast (ptr addrspace(1) @counter to ptr), i32 %7 seq_cst, align 4
  %9 = load i32, ptr %4, align 4, !tbaa !4
  %10 = atomicrmw xor ptr addrspacecast (ptr addrspace(1) @_ZL6hidden to ptr), i32 %9 seq_cst, align 4
  %11 = and i32 %2, 3
  %12 = uitofp nneg i32 %11 to float
  %13 = fmul contract float %12, 2.500000e-01
  %14 = atomicrmw fadd ptr addrspacecast (ptr addrspace(1) @total to ptr), float %13 seq_cst, align 4
  %15 = icmp eq i32 %2, 0
  br i1 %15, label %16, label %20

16:                                               ; preds = %1
  %17 = tail call noundef i32 @_Z5callsv() #8
  %18 = tail call noundef i32 @_Z5callsv() #8
  %19 = add i32 %18, %17
  store i32 %19, ptr %0, align 4, !tbaa !4
  br label %20

20:                                               ; preds = %16, %1
  ret void
}

; Function Attrs: mustprogress nofree noinline norecurse nounwind willreturn memory(readwrite, argmem: write, inaccessiblemem: none, target_mem0: none, target_mem1: none)
define dso_local ptx_kernel void @remember(ptr noundef writeonly captures(none) %0) local_unnamed_addr #2 {
  %2 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %3 = zext nneg i32 %2 to i64
  %4 = getelementptr inbounds nuw i32, ptr addrspacecast (ptr addrspace(1) @history to ptr), i64 %3
  %5 = load i32, ptr addrspacecast (ptr addrspace(1) @counter to ptr), align 4, !tbaa !4
  %6 = add i32 %5, %2
  %7 = cmpxchg ptr %4, i32 0, i32 %6 seq_cst seq_cst, align 4
  %8 = extractvalue { i32, i1 } %7, 0
  %9 = load i32, ptr addrspacecast (ptr addrspace(1) @_ZL6hidden to ptr), align 4, !tbaa !4
  %10 = add i32 %8, %9
  %11 = getelementptr inbounds nuw i32, ptr %0, i64 %3
  store i32 %10, ptr %11, align 4, !tbaa !4
  ret void
}

; Function Attrs: mustprogress nofree noinline norecurse nosync nounwind willreturn memory(read, argmem: write, inaccessiblemem: none, target_mem0: none, target_mem1: none)
define dso_local ptx_kernel void @recall(ptr noundef writeonly captures(none) %0) local_unnamed_addr #3 {
  %2 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %3 = zext nneg i32 %2 to i64
  %4 = getelementptr inbounds nuw i32, ptr addrspacecast (ptr addrspace(1) @history to ptr), i64 %3
  %5 = load i32, ptr %4, align 4, !tbaa !4
  %6 = mul i32 %5, 3
  %7 = load i32, ptr addrspacecast (ptr addrspace(1) @_ZL6hidden to ptr), align 4, !tbaa !4
  %8 = add i32 %6, %7
  %9 = load float, ptr addrspacecast (ptr addrspace(1) @total to ptr), align 4, !tbaa !8
  %10 = fmul contract float %9, 4.000000e+00
  %11 = fptoui float %10 to i32
  %12 = add i32 %8, %11
  %13 = load i64, ptr addrspacecast (ptr addrspace(1) @largest to ptr), align 8, !tbaa !10
  %14 = lshr i64 %13, 32
  %15 = trunc nuw i64 %14 to i32
  %16 = add i32 %12, %15
  %17 = getelementptr inbounds nuw i32, ptr %0, i64 %3
  store i32 %16, ptr %17, align 4, !tbaa !4
  ret void
}

; Function Attrs: convergent mustprogress noinline norecurse nounwind
define dso_local ptx_kernel void @follow(ptr noundef writeonly captures(none) %0) local_unnamed_addr #4 {
  %2 = load ptr, ptr addrspacecast (ptr addrspace(1) @links to ptr), align 8, !tbaa !12
  %3 = load i32, ptr %2, align 4, !tbaa !4
  %4 = load ptr, ptr getelementptr inbounds nuw (i8, ptr addrspacecast (ptr addrspace(1) @links to ptr), i64 8), align 8, !tbaa !16
  %5 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %6 = and i32 %5, 3
  %7 = zext nneg i32 %6 to i64
  %8 = getelementptr inbounds nuw i32, ptr %4, i64 %7
  %9 = load i32, ptr %8, align 4, !tbaa !4
  %10 = load i32, ptr getelementptr inbounds nuw (i8, ptr addrspacecast (ptr addrspace(1) @links to ptr), i64 16), align 8, !tbaa !17
  %11 = mul i32 %10, %9
  %12 = add i32 %11, %3
  %13 = zext nneg i32 %5 to i64
  %14 = getelementptr inbounds nuw i32, ptr %0, i64 %13
  store i32 %12, ptr %14, align 4, !tbaa !4
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %15 = icmp eq i32 %5, 0
  br i1 %15, label %16, label %19

16:                                               ; preds = %1
  %17 = load i32, ptr getelementptr inbounds nuw (i8, ptr addrspacecast (ptr addrspace(1) @links to ptr), i64 16), align 8, !tbaa !17
  %18 = add i32 %17, 2
  store i32 %18, ptr getelementptr inbounds nuw (i8, ptr addrspacecast (ptr addrspace(1) @links to ptr), i64 16), align 8, !tbaa !17
  br label %19

19:                                               ; preds = %16, %1
  ret void
}

; Function Attrs: convergent nocallback nounwind
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32) #5

; Function Attrs: mustprogress nofree noinline norecurse nosync nounwind willreturn memory(write, argmem: read, inaccessiblemem: none, target_mem0: none, target_mem1: none)
define dso_local ptx_kernel void @hide(ptr noundef readonly captures(none) %0) local_unnamed_addr #6 {
  %2 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %3 = icmp eq i32 %2, 0
  br i1 %3, label %4, label %8

4:                                                ; preds = %1
  %5 = getelementptr inbounds nuw i8, ptr %0, i64 12
  %6 = load i32, ptr %5, align 4, !tbaa !4
  %7 = mul i32 %6, 3
  store i32 %7, ptr addrspacecast (ptr addrspace(1) @_ZL6hidden to ptr), align 4, !tbaa !4
  br label %8

8:                                                ; preds = %4, %1
  ret void
}

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.tid.x() #7

attributes #0 = { mustprogress nofree noinline norecurse nounwind willreturn memory(readwrite, argmem: none, inaccessiblemem: none, target_mem0: none, target_mem1: none) "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_90" "target-features"="+ptx88,+sm_90" }
attributes #1 = { mustprogress nofree noinline norecurse nounwind willreturn memory(readwrite, inaccessiblemem: none, target_mem0: none, target_mem1: none) "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_90" "target-features"="+ptx88,+sm_90" "uniform-work-group-size"="true" }
attributes #2 = { mustprogress nofree noinline norecurse nounwind willreturn memory(readwrite, argmem: write, inaccessiblemem: none, target_mem0: none, target_mem1: none) "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_90" "target-features"="+ptx88,+sm_90" "uniform-work-group-size"="true" }
attributes #3 = { mustprogress nofree noinline norecurse nosync nounwind willreturn memory(read, argmem: write, inaccessiblemem: none, target_mem0: none, target_mem1: none) "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_90" "target-features"="+ptx88,+sm_90" "uniform-work-group-size"="true" }
attributes #4 = { convergent mustprogress noinline norecurse nounwind "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_90" "target-features"="+ptx88,+sm_90" "uniform-work-group-size"="true" }
attributes #5 = { convergent nocallback nounwind }
attributes #6 = { mustprogress nofree noinline norecurse nosync nounwind willreturn memory(write, argmem: read, inaccessiblemem: none, target_mem0: none, target_mem1: none) "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_90" "target-features"="+ptx88,+sm_90" "uniform-work-group-size"="true" }
attributes #7 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #8 = { nounwind }

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
!9 = !{!"float", !6, i64 0}
!10 = !{!11, !11, i64 0}
!11 = !{!"long long", !6, i64 0}
!12 = !{!13, !14, i64 0}
!13 = !{!"_ZTS5Links", !14, i64 0, !14, i64 8, !5, i64 16}
!14 = !{!"p1 int", !15, i64 0}
!15 = !{!"any pointer", !6, i64 0}
!16 = !{!13, !14, i64 8}
!17 = !{!13, !5, i64 16}
