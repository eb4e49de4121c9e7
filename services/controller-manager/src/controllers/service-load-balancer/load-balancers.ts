import type { Service as KubeService, LoadBalancerIngress } from '@holdfast/api';

export interface LoadBalancer {
  /** For `.status.loadBalancer.ingress`. */
  readonly ingress: readonly LoadBalancerIngress[];
  /** What does not work, each with the next step. */
  readonly problems: readonly string[];
}

/** What leads traffic from outside the cluster to services. */
export interface LoadBalancers {
  /** Makes or changes the load balancer of a service, and keeps the address of its status where it can. */
  ensure(service: KubeService): Promise<LoadBalancer>;
  /** Ends it. Without one it does nothing. */
  release(key: string): Promise<void>;
}
