import type { Protocol } from './model.ts';

/** Sets and maps that several units fill. */
/** Cluster addresses of services. */
export const SERVICES_MAP = 'map-services';
/** Addresses that users choose: external ones, and those of load balancers. They are asked last. */
export const EXTERNAL_MAP = 'map-external';
export const NODE_PORTS_MAP = 'map-node-ports';
export const INGRESS_PODS_MAP = 'map-ingress-pods';
export const EGRESS_PODS_MAP = 'map-egress-pods';
/** Addresses of services inside the cluster. */
export const CLUSTER_ADDRESSES = 'cluster-addresses';
/** Cluster addresses at which something else answers in this network. */
export const RELAYED_ADDRESSES = 'relayed-addresses';
/** The networks of the pods of the cluster. */
export const POD_NETWORKS = 'pod-networks';
/** Addresses of this node at which node ports answer. */
export const NODE_ADDRESSES = 'node-addresses';
/** Pairs of equal addresses: a target on this node that reaches itself through a service. */
export const OWN_PAIRS = 'own-pairs';

export const REFUSE_CHAIN = 'refuse';
export const SERVICES_CHAIN = 'services';

/**
 * Names are parts of the script of nft, so only these are written there. The API server accepts no others for objects
 * of these kinds.
 */
const SAFE_NAME = /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/;

export const isSafeName = (name: string): boolean => name.length <= 63 && SAFE_NAME.test(name);

/** Names one port of a service: `default/web/tcp/http`. */
export function portId(
  { namespace, name }: { readonly namespace: string; readonly name: string },
  { protocol, port }: { readonly protocol: Protocol; readonly port: string },
): string {
  return `${namespace}/${name}/${protocol.toLowerCase()}/${port}`;
}
