import { type FieldError, invalid, required } from '@holdfast/machinery';
import type {
  FieldSelectorRequirement,
  LabelSelectorRequirement,
  LocalSubjectAccessReview,
  SelfSubjectAccessReview,
  SubjectAccessReview,
} from '../generated/types.ts';
import { goValue } from './go/print.ts';
import { validateOperator, validateRequirement } from './labels.ts';

type Review = LocalSubjectAccessReview | SelfSubjectAccessReview | SubjectAccessReview;
type Asked = NonNullable<SelfSubjectAccessReview['spec']>;
type Attributes = NonNullable<Asked['resourceAttributes']>;

/** Returns the errors in an access review; `namespace` is that of a namespaced review. */
export function accessReviewErrors(review: Readonly<Review>, namespace?: string): readonly FieldError[] {
  const spec: Partial<SubjectAccessReview['spec']> = review.spec ?? {};
  const { resourceAttributes, nonResourceAttributes } = spec;
  const out: FieldError[] = [];
  const nonResource = goValue('authorization.NonResourceAttributes', nonResourceAttributes ?? {});
  if (resourceAttributes !== undefined && nonResourceAttributes !== undefined) {
    const detail = 'cannot be specified in combination with resourceAttributes';
    out.push(invalid('spec.nonResourceAttributes', nonResource, detail));
  }
  if (resourceAttributes === undefined && nonResourceAttributes === undefined) {
    const detail = 'exactly one of nonResourceAttributes or resourceAttributes must be specified';
    out.push(invalid('spec.resourceAttributes', null, detail));
  }
  if (review.kind !== 'SelfSubjectAccessReview' && !spec.user && (spec.groups ?? []).length === 0) {
    out.push(invalid('spec.user', spec.user ?? '', 'at least one of user or group must be specified'));
  }
  if (resourceAttributes !== undefined) validateSelectors(out, 'spec.resourceAttributes', resourceAttributes);
  validateNoMetadata(out, review, namespace);
  if (namespace === undefined) return out;
  const asked = resourceAttributes?.namespace ?? '';
  if (resourceAttributes !== undefined && asked !== namespace) {
    out.push(invalid('spec.resourceAttributes.namespace', asked, 'must match metadata.namespace'));
  }
  if (nonResourceAttributes !== undefined) {
    out.push(invalid('spec.nonResourceAttributes', nonResource, 'disallowed on this kind of request'));
  }
  return out;
}

/** Fields that the server sets itself do not count. */
const OWN_METADATA = new Set([
  'namespace',
  'managedFields',
  'uid',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'selfLink',
]);

function validateNoMetadata(out: FieldError[], { metadata }: Readonly<Review>, namespace: string | undefined): void {
  const given = Object.entries(metadata ?? {}).filter(([key, value]) => !OWN_METADATA.has(key) && !isEmpty(value));
  if (given.length === 0) return;
  const place = namespace === undefined ? {} : { namespace };
  const shown = goValue('v1.ObjectMeta', { ...Object.fromEntries(given), ...place });
  out.push(
    invalid('metadata', shown, namespace === undefined ? 'must be empty' : 'must be empty except for namespace'),
  );
}

const isEmpty = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === '' ||
  value === 0 ||
  (typeof value === 'object' && Object.keys(value).length === 0);

interface Selector<R> {
  readonly rawSelector?: string;
  readonly requirements?: readonly R[];
}

function validateSelectors(
  out: FieldError[],
  path: string,
  { fieldSelector, labelSelector }: Readonly<Attributes>,
): void {
  validateSelector<FieldSelectorRequirement>(out, `${path}.fieldSelector`, fieldSelector, (at, requirement) => {
    if (!requirement.key) out.push(required(`${at}.key`, 'must be specified'));
    validateOperator(out, at, requirement);
  });
  validateSelector<LabelSelectorRequirement>(out, `${path}.labelSelector`, labelSelector, (at, requirement) => {
    validateRequirement(out, at, requirement, true);
  });
}

/** Unknown operators of newer clients are accepted. */
function validateSelector<R>(
  out: FieldError[],
  path: string,
  selector: Selector<R> | undefined,
  validate: (path: string, requirement: R) => void,
): void {
  if (selector === undefined) return;
  const { rawSelector = '', requirements = [] } = selector;
  if (rawSelector !== '' && requirements.length > 0) {
    out.push(invalid(`${path}.rawSelector`, rawSelector, 'may not specified at the same time as requirements'));
  }
  if (rawSelector === '' && requirements.length === 0) {
    const detail = `when ${path} is specified, requirements or rawSelector is required`;
    out.push(required(`${path}.requirements`, detail));
  }
  for (const [i, requirement] of requirements.entries()) validate(`${path}.requirements[${i}]`, requirement);
}
