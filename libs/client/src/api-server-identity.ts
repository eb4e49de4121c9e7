/**
 * The identity of API servers towards kubelets. The cluster's signer also signs for users, so both parts are reserved:
 * no certificate request that names one of them is admitted or signed.
 */
export const API_SERVER_CLIENT = { user: 'kube-apiserver-kubelet-client', group: 'holdfast:api-servers' } as const;

/** True for a name that only the set-up may put into certificates. */
export const isReservedSubject = (commonNames: readonly string[], organizations: readonly string[]): boolean =>
  commonNames.includes(API_SERVER_CLIENT.user) || organizations.includes(API_SERVER_CLIENT.group);
