import type { Service } from '@holdfast/api';
import { objectKey, type StoreKey } from '@holdfast/store';
import { encodeStored } from '../cache/stored-json.ts';
import { addressNumber } from './ranges.ts';
import { hasNodePorts } from './requests.ts';

/** Not an API group: the API can neither read nor write these. */
const GROUP = 'internal.holdfast';

/** One store object per address and port of a service: creating it is the allocation. */
export const addressKey = (address: string): StoreKey => claimKey('serviceaddresses', address);
export const nodePortKey = (port: number): StoreKey => claimKey('servicenodeports', String(port));

export const isNodePortKey = (key: StoreKey): boolean => key.startsWith(nodePortKey(0).slice(0, -1));

const claimKey = (resource: string, name: string): StoreKey =>
  objectKey({ group: GROUP, resource, namespace: '', name });

export function claimValue(name: string, { metadata }: Readonly<Service>): string {
  const holder = { namespace: metadata.namespace, name: metadata.name, uid: metadata.uid };
  const claim = { kind: 'ServiceClaim', apiVersion: `${GROUP}/v1`, metadata: { name }, holder };
  return encodeStored(claim);
}

/** True when the stored claim was made for this service. */
export function isHeldBy(value: string, { metadata }: Readonly<Service>): boolean {
  const claim: unknown = JSON.parse(value);
  if (typeof claim !== 'object' || claim === null || !('holder' in claim)) return false;
  const { holder } = claim;
  return typeof holder === 'object' && holder !== null && 'uid' in holder && holder.uid === metadata.uid;
}

export interface Claim {
  readonly key: StoreKey;
  readonly name: string;
  /** The service's field, for the refusal. */
  readonly field: 'clusterIPs' | 'healthCheckNodePort' | number;
}

/** Returns the claims of a service as written. Node ports that its type does not use are not claimed. */
export const claimsOf = (service: Readonly<Service>): readonly Claim[] => claimsFor(service, hasNodePorts(service));

/** Returns possible claims from the time when node ports were claimed for every type. */
export const oldClaimsOf = (service: Readonly<Service>): readonly Claim[] => claimsFor(service, true);

function claimsFor({ spec }: Readonly<Service>, withNodePorts: boolean): readonly Claim[] {
  const claims = new Map<StoreKey, Claim>();
  const claim = (key: StoreKey, name: string, field: Claim['field']): void => {
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
