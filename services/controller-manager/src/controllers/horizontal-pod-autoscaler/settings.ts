/** What an autoscaler is lenient about; the defaults are those of Kubernetes. */
export interface AutoscalingSettings {
  /** Between two looks at one autoscaler. */
  readonly syncPeriodMs: number;
  /** A recommendation to have more pods holds for so long. */
  readonly downscaleStabilizationMs: number;
  /** So long after its start the processor time of a pod may be that of its start. */
  readonly cpuInitializationMs: number;
  /** A pod that is not ready and changed its readiness no later than this after its start has never been ready. */
  readonly initialReadinessDelayMs: number;
  /** Share by which what is measured may differ from its target without consequence. */
  readonly tolerance: number;
}

export const AUTOSCALING_DEFAULTS: AutoscalingSettings = {
  syncPeriodMs: 15_000,
  downscaleStabilizationMs: 300_000,
  cpuInitializationMs: 300_000,
  initialReadinessDelayMs: 30_000,
  tolerance: 0.1,
};
