export { chargeQuotas, type QuotaUse, type QuotaVerdict } from './charge.ts';
export { type QuotaEvaluator, quotaEvaluatorFor } from './evaluators.ts';
export { podLimits, podRequests } from './pod-resources.ts';
export { isCharged } from './pod-usage.ts';
export { type CountedKind, countedKinds, recount } from './recount.ts';
