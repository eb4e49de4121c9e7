/** Silence after which a node's readiness is unknown; ten renewals of a 10 s lease may not be lost unnoticed. */
export const NODE_MONITOR_GRACE_SECONDS_DEFAULT = 50;

/** Of the controller manager, which judges by it, and of the fencer, which publishes a bound that contains it. */
export const NODE_MONITOR_GRACE_SETTING = {
  kind: 'integer',
  help: 'seconds of silence after which the readiness of a node is unknown; kubelets report every 10 s',
  default: NODE_MONITOR_GRACE_SECONDS_DEFAULT,
  // Two reports: below that a node is lost for one late packet, and the manager takes its own silence for its nodes'.
  min: 20,
  max: 3_600,
} as const;
