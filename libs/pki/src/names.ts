/** The names in a server certificate. */
export interface PkiNames {
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
}

/** Names by which Kubernetes clients may reach an API server. */
export const STANDARD_SERVER_NAMES: PkiNames = {
  dnsNames: [
    'localhost',
    'kubernetes',
    'kubernetes.default',
    'kubernetes.default.svc',
    'kubernetes.default.svc.cluster.local',
  ],
  ipAddresses: ['127.0.0.1', '::1', '10.96.0.1'],
};
