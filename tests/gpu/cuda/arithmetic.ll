; ModuleID = 'arithmetic.cu'
source_filename = "arithmetic.cu"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

; Function Attrs: mustprogress nofree noinline norecurse nosync nounwind willreturn memory(none)
define dso_local noundef i32 @_Z8quotientjj(i32 noundef %0, i32 noundef %1) local_unnamed_addr #0 {
  %3 = udiv i32 %0, %1
  %4 = mul i32 %3, %1
  %5 = sub i32 %0, %4
  %6 = add i32 %5, %3
  ret i32 %6
}

; Function Attrs: mustprogress nofree noinline norecurse nosync nounwind willreturn memory(argmem: readwrite)
define dso_local ptx_kernel void @divide_integers(ptr noundef captures(none) %0) local_unnamed_addr #1 {
  %2 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %3 = zext nneg i32 %2 to i64
  %4 = getelementptr inbounds nuw i32, ptr %0, i64 %3
  %5 = load i32, ptr %4, align 4, !tbaa !4
  %6 = mul i32 %5, -1640531535
  %7 = mul i32 %5, 97
  %8 = add nuw nsw i32 %2, 3
  %9 = tail call noundef i32 @_Z8quotientjj(i32 noundef %7, i32 noundef %8) #6
  %10 = add i32 %5, 1
  %11 = sdiv i32 %6, %10
  %12 = mul nsw i32 %11, 3
  %13 = add i32 %12, %9
  %14 = or i32 %5, 1
  %15 = srem i32 %6, %14
  %16 = add i32 %13, %15
  store i32 %16, ptr %4, align 4, !tbaa !4
  ret void
}

; Function Attrs: mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
declare void @llvm.lifetime.start.p0(ptr captures(none)) #2

; Function Attrs: mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
declare void @llvm.lifetime.end.p0(ptr captures(none)) #2

; Function Attrs: mustprogress nofree noinline norecurse nosync nounwind willreturn memory(argmem: readwrite)
define dso_local ptx_kernel void @divide_long_integers(ptr noundef captures(none) %0) local_unnamed_addr #1 {
  %2 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %3 = zext nneg i32 %2 to i64
  %4 = getelementptr inbounds nuw i32, ptr %0, i64 %3
  %5 = load i32, ptr %4, align 4, !tbaa !4
  %6 = zext i32 %5 to i64
  %7 = mul i64 %6, -7046029254386353131
  %8 = mul nuw nsw i64 %6, 1000003
  %9 = freeze i64 %7
  %10 = freeze i64 %8
  %11 = udiv i64 %9, %10
  %12 = mul i64 %11, %10
  %13 = sub i64 %9, %12
  %14 = add i64 %13, %11
  %15 = trunc i64 %14 to i32
  %16 = sdiv i64 %7, %8
  %17 = trunc i64 %16 to i32
  %18 = add i32 %15, %17
  %19 = trunc i64 %7 to i32
  %20 = trunc i64 %8 to i32
  %21 = tail call noundef i32 @_Z8quotientjj(i32 noundef %19, i32 noundef %20) #6
  %22 = add i32 %18, %21
  store i32 %22, ptr %4, align 4, !tbaa !4
  ret void
}

; Function Attrs: convergent mustprogress noinline norecurse nounwind
define dso_local ptx_kernel void @divide_floats(ptr noundef captures(none) %0) local_unnamed_addr #3 {
  %2 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %3 = zext nneg i32 %2 to i64
  %4 = getelementptr inbounds nuw i32, ptr %0, i64 %3
  %5 = load i32, ptr %4, align 4, !tbaa !4
  %6 = uitofp i32 %5 to float
  %7 = add nuw nsw i32 %2, 256
  %8 = tail call contract noundef float @__nv_int_as_float(i32 noundef %7) #7
  %9 = or disjoint i32 %2, 2130706432
  %10 = tail call contract noundef float @__nv_int_as_float(i32 noundef %9) #7
  %11 = fdiv contract float %6, 0x400D9999A0000000
  %12 = fmul contract float %6, 0x380B38FB80000000
  %13 = fdiv contract float %8, %12
  %14 = fadd contract float %11, %13
  %15 = fmul contract float %6, 0x46293E5940000000
  %16 = fdiv contract float %10, %15
  %17 = fadd contract float %16, %14
  %18 = fmul contract float %8, %6
  %19 = fdiv contract float 1.000000e+00, %18
  %20 = tail call contract noundef float @__nv_sqrtf(float noundef %6) #7
  %21 = fadd contract float %19, %20
  %22 = tail call contract noundef float @__nv_sqrtf(float noundef %8) #7
  %23 = fmul contract float %22, 0x4415AF1D80000000
  %24 = fadd contract float %21, %23
  %25 = tail call contract noundef float @__nv_rsqrtf(float noundef %6) #7
  %26 = fadd contract float %25, %24
  %27 = tail call noundef i32 @__nv_float_as_int(float noundef %17) #7
  %28 = tail call noundef i32 @__nv_float_as_int(float noundef %26) #7
  %29 = mul nsw i32 %28, 31
  %30 = xor i32 %29, %27
  store i32 %30, ptr %4, align 4, !tbaa !4
  ret void
}

; Function Attrs: convergent mustprogress noinline norecurse nounwind
define dso_local ptx_kernel void @divide_doubles(ptr noundef captures(none) %0) local_unnamed_addr #3 {
  %2 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %3 = zext nneg i32 %2 to i64
  %4 = getelementptr inbounds nuw i32, ptr %0, i64 %3
  %5 = load i32, ptr %4, align 4, !tbaa !4
  %6 = uitofp i32 %5 to double
  %7 = fadd contract double %6, 3.000000e-01
  %8 = or disjoint i64 %3, 65536
  %9 = tail call contract noundef double @__nv_longlong_as_double(i64 noundef range(i64 65536, 4295032832) %8) #7
  %10 = fdiv contract double 1.000000e+00, %7
  %11 = fmul contract double %7, 0x730D67819E8D2
  %12 = fdiv contract double %9, %11
  %13 = fadd contract double %10, %12
  %14 = fmul contract double %7, 1.000000e+300
  %15 = fdiv contract double 1.000000e+308, %14
  %16 = fadd contract double %15, %13
  %17 = tail call contract noundef double @__nv_sqrt(double noundef %7) #7
  %18 = tail call contract noundef double @__nv_sqrt(double noundef %9) #7
  %19 = fadd contract double %17, %18
  %20 = tail call contract noundef double @__nv_rsqrt(double noundef %7) #7
  %21 = fadd contract double %19, %20
  %22 = tail call contract noundef double @__nv_fmod(double noundef 1.000000e+18, double noundef %7) #7
  %23 = fadd contract double %21, %22
  %24 = tail call noundef i64 @__nv_double_as_longlong(double noundef %16) #7
  %25 = lshr i64 %24, 13
  %26 = trunc i64 %25 to i32
  %27 = tail call noundef i64 @__nv_double_as_longlong(double noundef %23) #7
  %28 = lshr i64 %27, 11
  %29 = trunc i64 %28 to i32
  %30 = mul i32 %29, 31
  %31 = xor i32 %30, %26
  store i32 %31, ptr %4, align 4, !tbaa !4
  ret void
}

; Function Attrs: convergent mustprogress noinline norecurse nounwind
define dso_local ptx_kernel void @trigonometry_of_floats(ptr noundef captures(none) %0) local_unnamed_addr #3 {
  %2 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %3 = zext nneg i32 %2 to i64
  %4 = getelementptr inbounds nuw i32, ptr %0, i64 %3
  %5 = load i32, ptr %4, align 4, !tbaa !4
  %6 = uitofp i32 %5 to float
  %7 = fmul contract float %6, 1.100000e+06
  %8 = tail call contract noundef float @__nv_sinf(float noundef %7) #7
  %9 = tail call noundef i32 @__nv_float_as_int(float noundef %8) #7
  %10 = fmul contract float %7, 0x4008CCCCC0000000
  %11 = tail call contract noundef float @__nv_cosf(float noundef %10) #7
  %12 = tail call noundef i32 @__nv_float_as_int(float noundef %11) #7
  %13 = mul nsw i32 %12, 3
  %14 = xor i32 %13, %9
  %15 = fmul contract float %7, 0x401D333340000000
  %16 = tail call contract noundef float @__nv_tanf(float noundef %15) #7
  %17 = tail call noundef i32 @__nv_float_as_int(float noundef %16) #7
  %18 = mul nsw i32 %17, 5
  %19 = xor i32 %14, %18
  store i32 %19, ptr %4, align 4, !tbaa !4
  ret void
}

; Function Attrs: convergent mustprogress noinline norecurse nounwind
define dso_local ptx_kernel void @trigonometry_of_doubles(ptr noundef captures(none) %0) local_unnamed_addr #3 {
  %2 = alloca double, align 8
  %3 = alloca double, align 8
  %4 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %5 = zext nneg i32 %4 to i64
  %6 = getelementptr inbounds nuw i32, ptr %0, i64 %5
  %7 = load i32, ptr %6, align 4, !tbaa !4
  %8 = uitofp i32 %7 to double
  %9 = fmul contract double %8, 1.100000e+09
  call void @llvm.lifetime.start.p0(ptr nonnull %2) #6
  call void @llvm.lifetime.start.p0(ptr nonnull %3) #6
  call void @__nv_sincos(double noundef %9, ptr noundef nonnull %2, ptr noundef nonnull %3) #7
  %10 = load double, ptr %2, align 8, !tbaa !8
  %11 = load double, ptr %3, align 8, !tbaa !8
  %12 = fmul contract double %11, 3.000000e+00
  %13 = fadd contract double %10, %12
  %14 = fmul contract double %9, 1.000000e+06
  %15 = call contract noundef double @__nv_sin(double noundef %14) #7
  %16 = fadd contract double %15, %13
  %17 = call noundef i64 @__nv_double_as_longlong(double noundef %16) #7
  %18 = lshr i64 %17, 9
  %19 = ashr i64 %17, 33
  %20 = xor i64 %18, %19
  %21 = trunc i64 %20 to i32
  store i32 %21, ptr %6, align 4, !tbaa !4
  call void @llvm.lifetime.end.p0(ptr nonnull %3) #6
  call void @llvm.lifetime.end.p0(ptr nonnull %2) #6
  ret void
}

; Function Attrs: convergent mustprogress noinline norecurse nounwind
define dso_local ptx_kernel void @powers(ptr noundef captures(none) %0) local_unnamed_addr #3 {
  %2 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %3 = zext nneg i32 %2 to i64
  %4 = getelementptr inbounds nuw i32, ptr %0, i64 %3
  %5 = load i32, ptr %4, align 4, !tbaa !4
  %6 = uitofp i32 %5 to double
  %7 = fmul contract double %6, 3.700000e-01
  %8 = tail call contract noundef double @__nv_pow(double noundef %7, double noundef 1.700000e+00) #7
  %9 = fmul contract double %7, 1.000000e-02
  %10 = tail call contract noundef double @__nv_exp(double noundef %9) #7
  %11 = fadd contract double %8, %10
  %12 = fadd contract double %7, 1.000000e-01
  %13 = tail call contract noundef double @__nv_log(double noundef %12) #7
  %14 = fadd contract double %11, %13
  %15 = fdiv contract double 1.000000e+00, %7
  %16 = tail call contract noundef double @__nv_pow(double noundef %15, double noundef 3.000000e+00) #7
  %17 = fadd contract double %14, %16
  %18 = tail call noundef i64 @__nv_double_as_longlong(double noundef %17) #7
  %19 = lshr i64 %18, 12
  %20 = trunc i64 %19 to i32
  %21 = fptrunc contract double %7 to float
  %22 = tail call contract noundef float @__nv_powf(float noundef %21, float noundef 0x3FD3333340000000) #7
  %23 = fneg contract float %21
  %24 = tail call contract noundef float @__nv_expf(float noundef %23) #7
  %25 = fadd contract float %22, %24
  %26 = tail call noundef i32 @__nv_float_as_int(float noundef %25) #7
  %27 = xor i32 %26, %20
  store i32 %27, ptr %4, align 4, !tbaa !4
  ret void
}

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.tid.x() #4

; Function Attrs: convergent nounwind
declare dso_local float @__nv_int_as_float(i32 noundef) local_unnamed_addr #5

; Function Attrs: convergent nounwind
declare dso_local float @__nv_sqrtf(float noundef) local_unnamed_addr #5

; Function Attrs: convergent nounwind
declare dso_local float @__nv_rsqrtf(float noundef) local_unnamed_addr #5

; Function Attrs: convergent nounwind
declare dso_local i32 @__nv_float_as_int(float noundef) local_unnamed_addr #5

; Function Attrs: convergent nounwind
declare dso_local double @__nv_longlong_as_double(i64 noundef) local_unnamed_addr #5

; Function Attrs: convergent nounwind
declare dso_local double @__nv_sqrt(double noundef) local_unnamed_addr #5

; Function Attrs: convergent nounwind
declare dso_local double @__nv_rsqrt(double noundef) local_unnamed_addr #5

; Function Attrs: convergent nounwind
declare dso_local double @__nv_fmod(double noundef, double noundef) local_unnamed_addr #5

; Function Attrs: convergent nounwind
declare dso_local i64 @__nv_double_as_longlong(double noundef) local_unnamed_addr #5

; Function Attrs: convergent nounwind
declare dso_local float @__nv_sinf(float noundef) local_unnamed_addr #5

; Function Attrs: convergent nounwind
declare dso_local float @__nv_cosf(float noundef) local_unnamed_addr #5

; Function Attrs: convergent nounwind
declare dso_local float @__nv_tanf(float noundef) local_unnamed_addr #5

; Function Attrs: convergent nounwind
declare dso_local void @__nv_sincos(double noundef, ptr noundef, ptr noundef) local_unnamed_addr #5

; Function Attrs: convergent nounwind
declare dso_local double @__nv_sin(double noundef) local_unnamed_addr #5

; Function Attrs: convergent nounwind
declare dso_local double @__nv_pow(double noundef, double noundef) local_unnamed_addr #5

; Function Attrs: convergent nounwind
declare dso_local double @__nv_exp(double noundef) local_unnamed_addr #5

; Function Attrs: convergent nounwind
declare dso_local double @__nv_log(double noundef) local_unnamed_addr #5

; Function Attrs: convergent nounwind
declare dso_local float @__nv_powf(float noundef, float noundef) local_unnamed_addr #5

; Function Attrs: convergent nounwind
declare dso_local float @__nv_expf(float noundef) local_unnamed_addr #5

attributes #0 = { mustprogress nofree noinline norecurse nosync nounwind willreturn memory(none) "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_90" "target-features"="+ptx88,+sm_90" }
attributes #1 = { mustprogress nofree noinline norecurse nosync nounwind willreturn memory(argmem: readwrite) "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_90" "target-features"="+ptx88,+sm_90" "uniform-work-group-size"="true" }
attributes #2 = { mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite) }
attributes #3 = { convergent mustprogress noinline norecurse nounwind "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_90" "target-features"="+ptx88,+sm_90" "uniform-work-group-size"="true" }
attributes #4 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #5 = { convergent nounwind "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_90" "target-features"="+ptx88,+sm_90" }
attributes #6 = { nounwind }
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
!8 = !{!9, !9, i64 0}
!9 = !{!"double", !6, i64 0}
