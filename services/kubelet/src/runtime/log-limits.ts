/** The retention of a container's log. */
export interface LogLimits {
  /** For the current part, and for each older one. */
  readonly maxBytes: number;
  /** Includes the current one. */
  readonly maxFiles: number;
  /** Check interval of log sizes. */
  readonly checkMs: number;
}

/** Kubernetes' defaults of `containerLogMaxSize`, `containerLogMaxFiles` and `containerLogMonitorInterval`. */
export const DEFAULT_LOG_LIMITS: LogLimits = { maxBytes: 10 * 1024 * 1024, maxFiles: 5, checkMs: 10_000 };
