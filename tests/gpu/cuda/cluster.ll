; ModuleID = 'cluster.cu'
source_filename = "cluster.cu"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

@_ZZ15swap_in_clusterE4tile = internal addrspace(3) global [32 x i32] undef, align 4
@_ZZ18reverse_in_clusterE4tile = internal addrspace(3) global [32 x i32] undef, align 4

; Function Attrs: convergent mustprogress noinline nounwind
define dso_local noundef i32 @_Z12of_neighbourPKjj(ptr noundef %0, i32 noundef %1) local_unnamed_addr #0 {
  %3 = zext i32 %1 to i64
  %4 = getelementptr inbounds nuw i32, ptr %0, i64 %3
  %5 = addrspacecast ptr %4 to ptr addrspace(3)
  %6 = ptrtoint ptr addrspace(3) %5 to i64
  %7 = trunc i64 %6 to i32
  %8 = tail call i32 asm sideeffect "mov.u32 $0, %cluster_ctarank;", "=r"() #3, !srcloc !8
  %9 = xor i32 %8, 1
  %10 = tail call i32 asm sideeffect "mapa.shared::cluster.u32 $0, $1, $2;", "=r,r,r"(i32 %7, i32 %9) #3, !srcloc !9
  %11 = tail call i32 asm sideeffect "ld.shared::cluster.u32 $0, [$1];", "=r,r,~{memory}"(i32 %10) #3, !srcloc !10
  ret i32 %11
}

; Function Attrs: convergent mustprogress noinline norecurse nounwind
define dso_local ptx_kernel void @swap_in_cluster(ptr noundef captures(none) %0) local_unnamed_addr #1 {
  %2 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %3 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %4 = mul i32 %2, %3
  %5 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %6 = add i32 %4, %5
  %7 = zext i32 %6 to i64
  %8 = getelementptr inbounds nuw i32, ptr %0, i64 %7
  %9 = load i32, ptr %8, align 4, !tbaa !4
  %10 = zext nneg i32 %5 to i64
  %11 = getelementptr inbounds nuw i32, ptr addrspacecast (ptr addrspace(3) @_ZZ15swap_in_clusterE4tile to ptr), i64 %10
  store i32 %9, ptr %11, align 4, !tbaa !4
  tail call void asm sideeffect "barrier.cluster.arrive.aligned;\0A\09barrier.cluster.wait.aligned;", "~{memory}"() #3, !srcloc !11
  %12 = tail call noundef i32 @_Z12of_neighbourPKjj(ptr noundef addrspacecast (ptr addrspace(3) @_ZZ15swap_in_clusterE4tile to ptr), i32 noundef %5) #3
  tail call void asm sideeffect "barrier.cluster.arrive.aligned;\0A\09barrier.cluster.wait.aligned;", "~{memory}"() #3, !srcloc !11
  store i32 %12, ptr %8, align 4, !tbaa !4
  ret void
}

; Function Attrs: convergent mustprogress noinline norecurse nounwind
define dso_local ptx_kernel void @reverse_in_cluster(ptr noundef captures(none) %0) local_unnamed_addr #1 {
  %2 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %3 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %4 = mul i32 %2, %3
  %5 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %6 = add i32 %4, %5
  %7 = zext i32 %6 to i64
  %8 = getelementptr inbounds nuw i32, ptr %0, i64 %7
  %9 = load i32, ptr %8, align 4, !tbaa !4
  %10 = mul i32 %9, 3
  %11 = zext nneg i32 %5 to i64
  %12 = getelementptr inbounds nuw i32, ptr addrspacecast (ptr addrspace(3) @_ZZ18reverse_in_clusterE4tile to ptr), i64 %11
  store i32 %10, ptr %12, align 4, !tbaa !4
  tail call void asm sideeffect "barrier.cluster.arrive.aligned;\0A\09barrier.cluster.wait.aligned;", "~{memory}"() #3, !srcloc !11
  %13 = sub nsw i32 31, %5
  %14 = tail call noundef i32 @_Z12of_neighbourPKjj(ptr noundef addrspacecast (ptr addrspace(3) @_ZZ18reverse_in_clusterE4tile to ptr), i32 noundef %13) #3
  tail call void asm sideeffect "barrier.cluster.arrive.aligned;\0A\09barrier.cluster.wait.aligned;", "~{memory}"() #3, !srcloc !11
  store i32 %14, ptr %8, align 4, !tbaa !4
  ret void
}

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 2147483647) i32 @llvm.nvvm.read.ptx.sreg.ctaid.x() #2

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 1, 1025) i32 @llvm.nvvm.read.ptx.sreg.ntid.x() #2

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.tid.x() #2

attributes #0 = { convergent mustprogress noinline nounwind "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_90" "target-features"="+ptx88,+sm_90" }
attributes #1 = { convergent mustprogress noinline norecurse nounwind "frame-pointer"="all" "no-trapping-math"="true" "nvvm.maxntid"="32" "stack-protector-buffer-size"="8" "target-cpu"="sm_90" "target-features"="+ptx88,+sm_90" "uniform-work-group-size"="true" }
attributes #2 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #3 = { convergent nounwind }

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
!8 = !{i64 252}
!9 = !{i64 317}
!10 = !{i64 420}
!11 = !{i64 587, i64 621}
