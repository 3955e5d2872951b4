; ModuleID = 'tensor.cu'
source_filename = "tensor.cu"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

@_ZZ14multiply_tilesE4tile = internal addrspace(3) global [128 x i32] undef, align 4
@_ZZ14multiply_tilesE6result = internal addrspace(3) global [256 x float] undef, align 4

; Function Attrs: mustprogress nofree noinline norecurse nosync nounwind willreturn memory(none)
define dso_local noundef range(i32 1006647296, 1023359232) i32 @_Z6halvesj(i32 noundef %0) local_unnamed_addr #0 {
  %2 = and i32 %0, 16711935
  %3 = or disjoint i32 %2, 1006647296
  ret i32 %3
}

; Function Attrs: convergent mustprogress noinline norecurse nounwind
define dso_local ptx_kernel void @multiply_halves(ptr noundef captures(none) %0) local_unnamed_addr #1 {
  %2 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %3 = zext nneg i32 %2 to i64
  %4 = getelementptr inbounds nuw i32, ptr %0, i64 %3
  %5 = load i32, ptr %4, align 4, !tbaa !4
  %6 = tail call noundef i32 @_Z6halvesj(i32 noundef %5) #8
  %7 = add i32 %5, 1
  %8 = tail call noundef i32 @_Z6halvesj(i32 noundef %7) #8
  %9 = mul i32 %5, 3
  %10 = tail call noundef i32 @_Z6halvesj(i32 noundef %9) #8
  %11 = xor i32 %5, -1
  %12 = tail call noundef i32 @_Z6halvesj(i32 noundef %11) #8
  %13 = mul i32 %5, 5
  %14 = tail call noundef i32 @_Z6halvesj(i32 noundef %13) #8
  %15 = mul i32 %5, 7
  %16 = tail call noundef i32 @_Z6halvesj(i32 noundef %15) #8
  %17 = uitofp i32 %5 to float
  %18 = tail call contract { float, float, float, float } asm sideeffect "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {$0,$1,$2,$3}, {$4,$5,$6,$7}, {$8,$9}, {$10,$11,$12,$13};", "=f,=f,=f,=f,r,r,r,r,r,r,f,f,f,f"(i32 %6, i32 %8, i32 %10, i32 %12, i32 %14, i32 %16, float 1.000000e+00, float 2.000000e+00, float 5.000000e-01, float %17) #9, !srcloc !8
  %19 = extractvalue { float, float, float, float } %18, 0
  %20 = extractvalue { float, float, float, float } %18, 1
  %21 = extractvalue { float, float, float, float } %18, 2
  %22 = extractvalue { float, float, float, float } %18, 3
  %23 = tail call contract { float, float, float, float } asm sideeffect "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {$0,$1,$2,$3}, {$4,$5,$6,$7}, {$8,$9}, {$10,$11,$12,$13};", "=f,=f,=f,=f,r,r,r,r,r,r,f,f,f,f"(i32 %6, i32 %8, i32 %10, i32 %12, i32 %14, i32 %16, float %19, float %20, float %21, float %22) #9, !srcloc !8
  %24 = extractvalue { float, float, float, float } %23, 0
  %25 = extractvalue { float, float, float, float } %23, 1
  %26 = extractvalue { float, float, float, float } %23, 2
  %27 = extractvalue { float, float, float, float } %23, 3
  %28 = fadd contract float %24, %25
  %29 = tail call noundef i32 @__nv_float_as_int(float noundef %28) #9
  %30 = fmul contract float %26, %27
  %31 = tail call noundef i32 @__nv_float_as_int(float noundef %30) #9
  %32 = xor i32 %31, %29
  store i32 %32, ptr %4, align 4, !tbaa !4
  ret void
}

; Function Attrs: convergent mustprogress noinline norecurse nounwind
define dso_local ptx_kernel void @multiply_bytes(ptr noundef captures(none) %0) local_unnamed_addr #1 {
  %2 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %3 = zext nneg i32 %2 to i64
  %4 = getelementptr inbounds nuw i32, ptr %0, i64 %3
  %5 = load i32, ptr %4, align 4, !tbaa !4
  %6 = mul i32 %5, 16843009
  %7 = xor i32 %6, -1
  %8 = xor i32 %6, 270544960
  %9 = tail call { i32, i32, i32, i32 } asm sideeffect "mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {$0,$1,$2,$3}, {$4,$5}, {$6}, {$0,$1,$2,$3};", "=r,=r,=r,=r,r,r,r,0,1,2,3"(i32 %6, i32 %7, i32 %8, i32 0, i32 1, i32 2, i32 %2) #9, !srcloc !9
  %10 = extractvalue { i32, i32, i32, i32 } %9, 0
  %11 = extractvalue { i32, i32, i32, i32 } %9, 1
  %12 = extractvalue { i32, i32, i32, i32 } %9, 2
  %13 = extractvalue { i32, i32, i32, i32 } %9, 3
  %14 = mul nsw i32 %11, 3
  %15 = xor i32 %14, %10
  %16 = mul nsw i32 %12, 5
  %17 = xor i32 %15, %16
  %18 = mul nsw i32 %13, 7
  %19 = xor i32 %17, %18
  store i32 %19, ptr %4, align 4, !tbaa !4
  ret void
}

; Function Attrs: convergent mustprogress noinline norecurse nounwind
define dso_local ptx_kernel void @multiply_tiles(ptr noundef captures(none) %0) local_unnamed_addr #1 {
  %2 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %3 = zext nneg i32 %2 to i64
  %4 = getelementptr inbounds nuw i32, ptr %0, i64 %3
  %5 = load i32, ptr %4, align 4, !tbaa !4
  br label %35

6:                                                ; preds = %35
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %7 = tail call contract { <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half> } @llvm.nvvm.wmma.m16n16k16.load.a.row.stride.f16.p0(ptr addrspacecast (ptr addrspace(3) @_ZZ14multiply_tilesE4tile to ptr), i32 16)
  %8 = extractvalue { <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half> } %7, 0
  %9 = extractvalue { <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half> } %7, 1
  %10 = extractvalue { <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half> } %7, 2
  %11 = extractvalue { <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half> } %7, 3
  %12 = extractvalue { <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half> } %7, 4
  %13 = extractvalue { <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half> } %7, 5
  %14 = extractvalue { <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half> } %7, 6
  %15 = extractvalue { <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half> } %7, 7
  %16 = tail call contract { <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half> } @llvm.nvvm.wmma.m16n16k16.load.b.col.stride.f16.p0(ptr addrspacecast (ptr addrspace(3) @_ZZ14multiply_tilesE4tile to ptr), i32 16)
  %17 = extractvalue { <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half> } %16, 0
  %18 = extractvalue { <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half> } %16, 1
  %19 = extractvalue { <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half> } %16, 2
  %20 = extractvalue { <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half> } %16, 3
  %21 = extractvalue { <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half> } %16, 4
  %22 = extractvalue { <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half> } %16, 5
  %23 = extractvalue { <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half> } %16, 6
  %24 = extractvalue { <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half> } %16, 7
  %25 = tail call contract { float, float, float, float, float, float, float, float } @llvm.nvvm.wmma.m16n16k16.mma.row.col.f32.f32(<2 x half> %8, <2 x half> %9, <2 x half> %10, <2 x half> %11, <2 x half> %12, <2 x half> %13, <2 x half> %14, <2 x half> %15, <2 x half> %17, <2 x half> %18, <2 x half> %19, <2 x half> %20, <2 x half> %21, <2 x half> %22, <2 x half> %23, <2 x half> %24, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00)
  %26 = extractvalue { float, float, float, float, float, float, float, float } %25, 0
  %27 = extractvalue { float, float, float, float, float, float, float, float } %25, 1
  %28 = extractvalue { float, float, float, float, float, float, float, float } %25, 2
  %29 = extractvalue { float, float, float, float, float, float, float, float } %25, 3
  %30 = extractvalue { float, float, float, float, float, float, float, float } %25, 4
  %31 = extractvalue { float, float, float, float, float, float, float, float } %25, 5
  %32 = extractvalue { float, float, float, float, float, float, float, float } %25, 6
  %33 = extractvalue { float, float, float, float, float, float, float, float } %25, 7
  tail call void @llvm.nvvm.wmma.m16n16k16.store.d.row.stride.f32.p0(ptr addrspacecast (ptr addrspace(3) @_ZZ14multiply_tilesE6result to ptr), float %26, float %27, float %28, float %29, float %30, float %31, float %32, float %33, i32 16)
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %34 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  br label %49

35:                                               ; preds = %1, %35
  %36 = phi i32 [ 0, %1 ], [ %43, %35 ]
  %37 = add i32 %5, %36
  %38 = tail call noundef i32 @_Z6halvesj(i32 noundef %37) #8
  %39 = shl nuw nsw i32 %36, 5
  %40 = add nuw nsw i32 %39, %2
  %41 = zext nneg i32 %40 to i64
  %42 = getelementptr inbounds nuw i32, ptr addrspacecast (ptr addrspace(3) @_ZZ14multiply_tilesE4tile to ptr), i64 %41
  store i32 %38, ptr %42, align 4, !tbaa !4
  %43 = add nuw nsw i32 %36, 1
  %44 = icmp eq i32 %43, 4
  br i1 %44, label %6, label %35, !llvm.loop !10

45:                                               ; preds = %49
  %46 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %47 = zext nneg i32 %46 to i64
  %48 = getelementptr inbounds nuw i32, ptr %0, i64 %47
  store i32 %59, ptr %48, align 4, !tbaa !4
  ret void

49:                                               ; preds = %6, %49
  %50 = phi i32 [ 0, %6 ], [ %60, %49 ]
  %51 = phi i32 [ 0, %6 ], [ %59, %49 ]
  %52 = mul i32 %51, 31
  %53 = shl nuw nsw i32 %50, 5
  %54 = add nuw nsw i32 %53, %34
  %55 = zext nneg i32 %54 to i64
  %56 = getelementptr inbounds nuw float, ptr addrspacecast (ptr addrspace(3) @_ZZ14multiply_tilesE6result to ptr), i64 %55
  %57 = load float, ptr %56, align 4, !tbaa !13
  %58 = tail call noundef i32 @__nv_float_as_int(float noundef %57) #9
  %59 = add i32 %58, %52
  %60 = add nuw nsw i32 %50, 1
  %61 = icmp eq i32 %60, 8
  br i1 %61, label %45, label %49, !llvm.loop !15
}

; Function Attrs: convergent nocallback nounwind
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32) #2

; Function Attrs: mustprogress nocallback nofree nounwind willreturn memory(argmem: read)
declare { <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half> } @llvm.nvvm.wmma.m16n16k16.load.a.row.stride.f16.p0(ptr readonly captures(none), i32) #3

; Function Attrs: mustprogress nocallback nofree nounwind willreturn memory(argmem: read)
declare { <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half> } @llvm.nvvm.wmma.m16n16k16.load.b.col.stride.f16.p0(ptr readonly captures(none), i32) #3

; Function Attrs: nocallback nofree nosync nounwind memory(none)
declare { float, float, float, float, float, float, float, float } @llvm.nvvm.wmma.m16n16k16.mma.row.col.f32.f32(<2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, float, float, float, float, float, float, float, float) #4

; Function Attrs: nocallback nounwind memory(argmem: write)
declare void @llvm.nvvm.wmma.m16n16k16.store.d.row.stride.f32.p0(ptr writeonly captures(none), float, float, float, float, float, float, float, float, i32) #5

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.tid.x() #6

; Function Attrs: convergent nounwind
declare dso_local i32 @__nv_float_as_int(float noundef) local_unnamed_addr #7

attributes #0 = { mustprogress nofree noinline norecurse nosync nounwind willreturn memory(none) "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_90" "target-features"="+ptx88,+sm_90" }
attributes #1 = { convergent mustprogress noinline norecurse nounwind "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_90" "target-features"="+ptx88,+sm_90" "uniform-work-group-size"="true" }
attributes #2 = { convergent nocallback nounwind }
attributes #3 = { mustprogress nocallback nofree nounwind willreturn memory(argmem: read) }
attributes #4 = { nocallback nofree nosync nounwind memory(none) }
attributes #5 = { nocallback nounwind memory(argmem: write) }
attributes #6 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #7 = { convergent nounwind "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_90" "target-features"="+ptx88,+sm_90" }
attributes #8 = { nounwind }
attributes #9 = { convergent nounwind }

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
!8 = !{i64 381}
!9 = !{i64 1239}
!10 = distinct !{!10, !11, !12}
!11 = !{!"llvm.loop.mustprogress"}
!12 = !{!"llvm.loop.unroll.disable"}
!13 = !{!14, !14, i64 0}
!14 = !{!"float", !6, i64 0}
!15 = distinct !{!15, !11, !12}
