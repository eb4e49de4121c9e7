import type { Node, NodeCondition } from '../generated/types.ts';

type Conditioned = { readonly status?: { readonly conditions?: readonly NodeCondition[] } };

export const nodeCondition = ({ status }: Conditioned, type: string): NodeCondition | undefined =>
  status?.conditions?.find((condition) => condition.type === type);

export const isNodeReady = (node: Conditioned): boolean => nodeCondition(node, 'Ready')?.status === 'True';

/** Ignores the effect. Stored JSON may lack the spec. */
export const hasTaint = ({ spec }: Partial<Pick<Node, 'spec'>>, key: string): boolean =>
  (spec?.taints ?? []).some((taint) => taint.key === key);
