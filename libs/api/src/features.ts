/** Feature gates that change what an object may say. The defaults are those of Kubernetes 1.32. */
export interface Features {
  readonly userNamespacesSupport: boolean;
}

export const DEFAULT_FEATURES: Features = { userNamespacesSupport: false };
