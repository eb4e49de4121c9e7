import { localSubjectAccessReview, selfSubjectAccessReview, subjectAccessReview } from './access-reviews.ts';
import { bindings } from './bindings.ts';
import { componentStatuses } from './component-statuses.ts';
import { nodeMetrics, podMetrics } from './metrics/usage-metrics.ts';
import type { VirtualResource } from './port.ts';
import { selfSubjectReview } from './self-subject-review.ts';
import { selfSubjectRulesReview } from './self-subject-rules-review.ts';
import { tokenReview } from './token-review.ts';

export const VIRTUAL_RESOURCES: readonly VirtualResource[] = [
  bindings,
  componentStatuses,
  nodeMetrics,
  podMetrics,
  selfSubjectReview,
  tokenReview,
  localSubjectAccessReview,
  selfSubjectAccessReview,
  selfSubjectRulesReview,
  subjectAccessReview,
];

export const findVirtualResource = (group: string, version: string, plural: string): VirtualResource | undefined =>
  VIRTUAL_RESOURCES.find((each) => each.group === group && each.version === version && each.plural === plural);
