import type { PolicyDirection } from '@holdfast/api';

/** Names of policies and pods may be longer than those of chains, so their uids are used. */
const SAFE_UID = /^[A-Za-z0-9-]{1,63}$/;

export const isSafeUid = (uid: string | undefined): uid is string => uid !== undefined && SAFE_UID.test(uid);

export const policyChain = (uid: string, direction: PolicyDirection): string => `${direction}/${uid}`;
export const podChain = (uid: string, direction: PolicyDirection): string => `${direction}-pod/${uid}`;
export const peerSet = (uid: string, direction: PolicyDirection, rule: number): string =>
  `peers/${uid}/${direction}/${rule}`;
export const portSet = (uid: string, direction: PolicyDirection, place: string): string =>
  `ports/${uid}/${direction}/${place}`;

const POLICY_UNIT = 'policy ';
const POD_UNIT = 'pod ';

/** Keys are `namespace/name`. */
export const policyUnit = (key: string): string => `${POLICY_UNIT}${key}`;
export const podUnit = (key: string): string => `${POD_UNIT}${key}`;
export const isPolicyUnit = (unit: string): boolean => unit.startsWith(POLICY_UNIT);
export const isPodUnit = (unit: string): boolean => unit.startsWith(POD_UNIT);

/** Namespace and name of the object of a unit. */
export function targetOf(unit: string): { readonly namespace: string; readonly name: string } {
  const [namespace = '', name = ''] = unit.slice(unit.indexOf(' ') + 1).split('/');
  return { namespace, name };
}
