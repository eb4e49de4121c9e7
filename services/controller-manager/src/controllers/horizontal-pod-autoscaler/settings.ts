/** The tolerances of an autoscaler, with Kubernetes' defaults. */
export interface AutoscalingSettings {
  /** Interval between two evaluations of one autoscaler. */
  readonly syncPeriodMs: number;
  /** A recommendation to have more pods holds for so long. */
  readonly downscaleStabilizationMs: number;
  /** For this long after its start, a pod's cpu usage may be that of its start. */
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
