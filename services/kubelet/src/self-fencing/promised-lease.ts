import {
  type Lease,
  NODE_LEASES_NAMESPACE,
  type Node,
  SELF_FENCING,
  SELF_FENCING_BROKEN,
  SELF_FENCING_HOLDER,
  type SelfFencingPolicy,
} from '@holdfast/api';
import { LEASE_DURATION_SECONDS } from '../limits.ts';
import { PROMISE_SECONDS } from './limits.ts';

/** The content of a node's lease; without `policy` it makes no promise. */
export interface LeaseWords {
  /** The machine and its boot. */
  readonly holder?: string;
  readonly policy: SelfFencingPolicy | undefined;
  /** How long the promise holds. */
  readonly promiseSeconds?: number;
  readonly renewTime: string;
}

/**
 * The next state of the lease. Removes the mark of a broken promise: the writer has confirmed that all covered pods are
 * dead.
 */
export function nextLease(held: Lease | undefined, node: Node, words: LeaseWords): Lease {
  const { name = '', uid = '' } = node.metadata;
  const base: Lease = held ?? {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: {
      name,
      namespace: NODE_LEASES_NAMESPACE,
      ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name, uid }],
    },
    spec: {},
  };
  const {
    [SELF_FENCING]: _policy,
    [SELF_FENCING_HOLDER]: _holder,
    [SELF_FENCING_BROKEN]: _broken,
    ...others
  } = base.metadata.annotations ?? {};
  // The server keeps them when they are not sent. They are half of a lease, and nodes renew theirs all the time.
  const { managedFields: _kept, ...metadata } = base.metadata;
  const own =
    words.policy === undefined ? {} : { [SELF_FENCING]: words.policy, [SELF_FENCING_HOLDER]: words.holder ?? '' };
  const annotations = { ...others, ...own };
  const written = base.metadata.annotations === undefined && Object.keys(own).length === 0 ? {} : { annotations };
  const leaseDurationSeconds =
    words.policy === undefined ? LEASE_DURATION_SECONDS : (words.promiseSeconds ?? PROMISE_SECONDS);
  const spec = { holderIdentity: name, leaseDurationSeconds, renewTime: words.renewTime };
  return { ...base, metadata: { ...metadata, ...written }, spec: { ...base.spec, ...spec } };
}
