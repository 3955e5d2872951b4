; ModuleID = 'memory.cu'
source_filename = "memory.cu"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

%struct.Pair = type { i32, [3 x i32] }

@common_tile = dso_local local_unnamed_addr addrspace(3) global [64 x i32] undef, align 4
@_ZZ9exchangedjE4tile = internal unnamed_addr addrspace(3) global [64 x %struct.Pair] undef, align 16
@_ZZ14exchange_twiceE3own = internal unnamed_addr addrspace(3) global [64 x i32] undef, align 4
@words = external dso_local local_unnamed_addr addrspace(3) global [0 x i32], align 4
@bytes = external dso_local local_unnamed_addr addrspace(3) global [0 x i8], align 128
@doubles = external dso_local local_unnamed_addr addrspace(3) global [0 x double], align 8
@_ZZ20add_in_shared_memoryE3sum = internal addrspace(3) global i32 undef, align 4
@_ZZ20add_in_shared_memoryE7largest = internal addrspace(3) global i32 undef, align 4

; Function Attrs: convergent mustprogress noinline norecurse nounwind
define dso_local noundef i32 @_Z9exchangedj(i32 noundef %0) local_unnamed_addr #0 {
  %2 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %3 = zext nneg i32 %2 to i64
  %4 = getelementptr inbounds nuw %struct.Pair, ptr addrspacecast (ptr addrspace(3) @_ZZ9exchangedjE4tile to ptr), i64 %3
  %5 = getelementptr inbounds nuw i8, ptr %4, i64 8
  store i32 %0, ptr %5, align 4, !tbaa !4
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %6 = xor i32 %2, 5
  %7 = zext nneg i32 %6 to i64
  %8 = getelementptr inbounds nuw %struct.Pair, ptr addrspacecast (ptr addrspace(3) @_ZZ9exchangedjE4tile to ptr), i64 %7
  %9 = getelementptr inbounds nuw i8, ptr %8, i64 8
  %10 = load i32, ptr %9, align 4, !tbaa !4
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  ret i32 %10
}

; Function Attrs: convergent nocallback nounwind
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32) #1

; Function Attrs: convergent mustprogress noinline norecurse nounwind
define dso_local ptx_kernel void @exchange(ptr noundef captures(none) %0) local_unnamed_addr #2 {
  %2 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %3 = zext nneg i32 %2 to i64
  %4 = getelementptr inbounds nuw i32, ptr %0, i64 %3
  %5 = load i32, ptr %4, align 4, !tbaa !4
  %6 = tail call noundef i32 @_Z9exchangedj(i32 noundef %5) #4
  %7 = add i32 %6, 1
  store i32 %7, ptr %4, align 4, !tbaa !4
  ret void
}

; Function Attrs: convergent mustprogress noinline norecurse nounwind
define dso_local ptx_kernel void @exchange_twice(ptr noundef captures(none) %0) local_unnamed_addr #2 {
  %2 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %3 = zext nneg i32 %2 to i64
  %4 = getelementptr inbounds nuw i32, ptr %0, i64 %3
  %5 = load i32, ptr %4, align 4, !tbaa !4
  %6 = tail call noundef i32 @_Z9exchangedj(i32 noundef %5) #4
  %7 = getelementptr inbounds nuw i32, ptr addrspacecast (ptr addrspace(3) @_ZZ14exchange_twiceE3own to ptr), i64 %3
  store i32 %6, ptr %7, align 4, !tbaa !4
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %8 = add nuw nsw i32 %2, 1
  %9 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %10 = urem i32 %8, %9
  %11 = zext nneg i32 %10 to i64
  %12 = getelementptr inbounds nuw i32, ptr addrspacecast (ptr addrspace(3) @_ZZ14exchange_twiceE3own to ptr), i64 %11
  %13 = load i32, ptr %12, align 4, !tbaa !4
  %14 = mul i32 %13, 3
  %15 = tail call noundef i32 @_Z9exchangedj(i32 noundef %14) #4
  store i32 %15, ptr %4, align 4, !tbaa !4
  ret void
}

; Function Attrs: convergent mustprogress noinline norecurse nounwind
define dso_local ptx_kernel void @reverse_words(ptr noundef captures(none) %0) local_unnamed_addr #2 {
  %2 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %3 = zext nneg i32 %2 to i64
  %4 = getelementptr inbounds nuw i32, ptr %0, i64 %3
  %5 = load i32, ptr %4, align 4, !tbaa !4
  %6 = getelementptr inbounds nuw i32, ptr addrspacecast (ptr addrspace(3) @words to ptr), i64 %3
  store i32 %5, ptr %6, align 4, !tbaa !4
  %7 = load i32, ptr %4, align 4, !tbaa !4
  %8 = mul i32 %7, 3
  %9 = getelementptr inbounds nuw i32, ptr addrspacecast (ptr addrspace(3) @common_tile to ptr), i64 %3
  store i32 %8, ptr %9, align 4, !tbaa !4
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %10 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %11 = xor i32 %2, -1
  %12 = add nsw i32 %10, %11
  %13 = zext i32 %12 to i64
  %14 = getelementptr inbounds nuw i32, ptr addrspacecast (ptr addrspace(3) @words to ptr), i64 %13
  %15 = load i32, ptr %14, align 4, !tbaa !4
  %16 = xor i32 %2, 1
  %17 = zext nneg i32 %16 to i64
  %18 = getelementptr inbounds nuw i32, ptr addrspacecast (ptr addrspace(3) @common_tile to ptr), i64 %17
  %19 = load i32, ptr %18, align 4, !tbaa !4
  %20 = add i32 %19, %15
  store i32 %20, ptr %4, align 4, !tbaa !4
  ret void
}

; Function Attrs: convergent mustprogress noinline norecurse nounwind
define dso_local ptx_kernel void @reverse_bytes(ptr noundef captures(none) %0) local_unnamed_addr #2 {
  %2 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %3 = zext nneg i32 %2 to i64
  %4 = getelementptr inbounds nuw i32, ptr %0, i64 %3
  %5 = load i32, ptr %4, align 4, !tbaa !4
  %6 = trunc i32 %5 to i8
  %7 = getelementptr inbounds nuw i8, ptr addrspacecast (ptr addrspace(3) @bytes to ptr), i64 %3
  store i8 %6, ptr %7, align 1, !tbaa !8
  %8 = load i32, ptr %4, align 4, !tbaa !4
  %9 = mul i32 %8, 5
  %10 = getelementptr inbounds nuw i32, ptr addrspacecast (ptr addrspace(3) @common_tile to ptr), i64 %3
  store i32 %9, ptr %10, align 4, !tbaa !4
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %11 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %12 = xor i32 %2, -1
  %13 = add nsw i32 %11, %12
  %14 = zext i32 %13 to i64
  %15 = getelementptr inbounds nuw i8, ptr addrspacecast (ptr addrspace(3) @bytes to ptr), i64 %14
  %16 = load i8, ptr %15, align 1, !tbaa !8
  %17 = zext i8 %16 to i32
  %18 = xor i32 %2, 2
  %19 = zext nneg i32 %18 to i64
  %20 = getelementptr inbounds nuw i32, ptr addrspacecast (ptr addrspace(3) @common_tile to ptr), i64 %19
  %21 = load i32, ptr %20, align 4, !tbaa !4
  %22 = add i32 %21, %17
  store i32 %22, ptr %4, align 4, !tbaa !4
  ret void
}

; Function Attrs: convergent mustprogress noinline norecurse nounwind
define dso_local ptx_kernel void @reverse_doubles(ptr noundef captures(none) %0) local_unnamed_addr #2 {
  %2 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %3 = zext nneg i32 %2 to i64
  %4 = getelementptr inbounds nuw i32, ptr %0, i64 %3
  %5 = load i32, ptr %4, align 4, !tbaa !4
  %6 = uitofp i32 %5 to double
  %7 = fmul contract double %6, 5.000000e-01
  %8 = getelementptr inbounds nuw double, ptr addrspacecast (ptr addrspace(3) @doubles to ptr), i64 %3
  store double %7, ptr %8, align 8, !tbaa !9
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %9 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %10 = xor i32 %2, -1
  %11 = add nsw i32 %9, %10
  %12 = zext i32 %11 to i64
  %13 = getelementptr inbounds nuw double, ptr addrspacecast (ptr addrspace(3) @doubles to ptr), i64 %12
  %14 = load double, ptr %13, align 8, !tbaa !9
  %15 = fmul contract double %14, 1.000000e+01
  %16 = fptoui double %15 to i32
  store i32 %16, ptr %4, align 4, !tbaa !4
  ret void
}

; Function Attrs: convergent mustprogress noinline norecurse nounwind
define dso_local ptx_kernel void @add_in_shared_memory(ptr noundef captures(none) %0) local_unnamed_addr #2 {
  %2 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %3 = icmp eq i32 %2, 0
  br i1 %3, label %4, label %5

4:                                                ; preds = %1
  store i32 0, ptr addrspacecast (ptr addrspace(3) @_ZZ20add_in_shared_memoryE3sum to ptr), align 4, !tbaa !4
  store i32 0, ptr addrspacecast (ptr addrspace(3) @_ZZ20add_in_shared_memoryE7largest to ptr), align 4, !tbaa !4
  br label %5

5:                                                ; preds = %4, %1
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %6 = zext nneg i32 %2 to i64
  %7 = getelementptr inbounds nuw i32, ptr %0, i64 %6
  %8 = load i32, ptr %7, align 4, !tbaa !4
  %9 = atomicrmw add ptr addrspacecast (ptr addrspace(3) @_ZZ20add_in_shared_memoryE3sum to ptr), i32 %8 seq_cst, align 4
  %10 = load i32, ptr %7, align 4, !tbaa !4
  %11 = mul i32 %10, 7
  %12 = urem i32 %11, 101
  %13 = atomicrmw umax ptr addrspacecast (ptr addrspace(3) @_ZZ20add_in_shared_memoryE7largest to ptr), i32 %12 seq_cst, align 4
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %14 = load i32, ptr addrspacecast (ptr addrspace(3) @_ZZ20add_in_shared_memoryE3sum to ptr), align 4, !tbaa !4
  %15 = mul i32 %14, 3
  %16 = load i32, ptr addrspacecast (ptr addrspace(3) @_ZZ20add_in_shared_memoryE7largest to ptr), align 4, !tbaa !4
  %17 = add i32 %15, %16
  store i32 %17, ptr %7, align 4, !tbaa !4
  ret void
}

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.tid.x() #3

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 1, 1025) i32 @llvm.nvvm.read.ptx.sreg.ntid.x() #3

attributes #0 = { convergent mustprogress noinline norecurse nounwind "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_90" "target-features"="+ptx88,+sm_90" }
attributes #1 = { convergent nocallback nounwind }
attributes #2 = { convergent mustprogress noinline norecurse nounwind "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_90" "target-features"="+ptx88,+sm_90" "uniform-work-group-size"="true" }
attributes #3 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #4 = { convergent nounwind }

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
!8 = !{!6, !6, i64 0}
!9 = !{!10, !10, i64 0}
!10 = !{!"double", !6, i64 0}
