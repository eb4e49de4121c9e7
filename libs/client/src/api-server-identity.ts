/**
 * Who the API servers are for kubelets. The cluster's signer signs for users as well, so both parts are reserved: no request
 * for a certificate that names one of them is admitted or signed.
 */
export const API_SERVER_CLIENT = { user: 'kube-apiserver-kubelet-client', group: 'holdfast:api-servers' } as const;

/** Is it a name that only the set-up gives to certificates? */
export const isReservedSubject = (commonNames: readonly string[], organizations: readonly string[]): boolean =>
  commonNames.includes(API_SERVER_CLIENT.user) || organizations.includes(API_SERVER_CLIENT.group);
