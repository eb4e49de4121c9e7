/** How much of the log of a container is kept. */
export interface LogLimits {
  /** Of the present part, and of each older one. */
  readonly maxBytes: number;
  /** With the present one. */
  readonly maxFiles: number;
  /** Between looks at how long logs are. */
  readonly checkMs: number;
}

/** Kubernetes' defaults of `containerLogMaxSize`, `containerLogMaxFiles` and `containerLogMonitorInterval`. */
export const DEFAULT_LOG_LIMITS: LogLimits = { maxBytes: 10 * 1024 * 1024, maxFiles: 5, checkMs: 10_000 };
