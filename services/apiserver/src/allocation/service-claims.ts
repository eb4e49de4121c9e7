import type { Service } from '@holdfast/api';
import type { StoreKey } from '@holdfast/store';
import { type Claim, claimKey } from './claims.ts';
import { addressNumber } from './ranges.ts';
import { hasNodePorts } from './requests.ts';

export const addressKey = (address: string): StoreKey => claimKey('serviceaddresses', address);
export const nodePortKey = (port: number): StoreKey => claimKey('servicenodeports', String(port));

export const isNodePortKey = (key: StoreKey): boolean => key.startsWith(nodePortKey(0).slice(0, -1));

/** The claim of a service on an address or a node port. */
export interface ServiceClaim extends Claim {
  /** The service's field, for the refusal. */
  readonly field: 'clusterIPs' | 'healthCheckNodePort' | number;
}

/** Returns the claims of a service as written. Node ports that its type does not use are not claimed. */
export const claimsOf = (service: Readonly<Service>): readonly ServiceClaim[] =>
  claimsFor(service, hasNodePorts(service));

/** Returns possible claims from the time when node ports were claimed for every type. */
export const oldClaimsOf = (service: Readonly<Service>): readonly ServiceClaim[] => claimsFor(service, true);

function claimsFor({ spec }: Readonly<Service>, withNodePorts: boolean): readonly ServiceClaim[] {
  const claims = new Map<StoreKey, ServiceClaim>();
  const claim = (key: StoreKey, name: string, field: ServiceClaim['field']): void => {
    if (!claims.has(key)) claims.set(key, { key, name, field });
  };
  if (spec.type !== 'ExternalName') {
    for (const ip of spec.clusterIPs ?? [])
      if (addressNumber(ip) !== undefined) claim(addressKey(ip), ip, 'clusterIPs');
  }
  for (const [i, { nodePort }] of (withNodePorts ? (spec.ports ?? []) : []).entries()) {
    if (nodePort !== undefined && nodePort !== 0) claim(nodePortKey(nodePort), String(nodePort), i);
  }
  const health = spec.healthCheckNodePort ?? 0;
  if (health !== 0) claim(nodePortKey(health), String(health), 'healthCheckNodePort');
  return [...claims.values()];
}
