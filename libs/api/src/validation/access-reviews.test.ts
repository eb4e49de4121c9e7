import { test } from 'node:test';
import { fieldErrorMessage, type JsonObject } from '@holdfast/machinery';
import type { SubjectAccessReview } from '../generated/types.ts';
import { compareTexts } from '../kinds/testing.ts';
import { accessReviewErrors } from './access-reviews.ts';

const apiVersion = 'authorization.k8s.io/v1';

test('access reviews: all errors are reported together, in the order of Kubernetes', () => {
  const told = (kind: string, rest: JsonObject, errors: readonly string[], namespace?: string): void => {
    const review = { apiVersion, kind, metadata: {}, ...rest } as unknown as SubjectAccessReview;
    compareTexts(accessReviewErrors(review, namespace).map(fieldErrorMessage), errors, JSON.stringify(rest));
  };
  const asked = (resourceAttributes: JsonObject): JsonObject => ({ spec: { user: 'u', resourceAttributes } });
  const [self, subject, local] = ['SelfSubjectAccessReview', 'SubjectAccessReview', 'LocalSubjectAccessReview'];
  const none = 'spec.resourceAttributes: Invalid value: "null": exactly one of nonResourceAttributes or…';
  told(self, {}, [none]);
  told(subject, { metadata: { name: 'x' } }, [
    none,
    'spec.user: Invalid value: "": at least one of user or group must be specified',
    'metadata: Invalid value: v1.ObjectMeta{Name:"x", GenerateName:"", Namespace:"", SelfLink:"", UID:"",…',
  ]);
  told(self, { metadata: { uid: 'u', labels: {}, managedFields: [{}] }, ...asked({}) }, []);
  told(
    local,
    {
      metadata: { namespace: 'a', labels: { b: 'c' } },
      spec: { groups: ['g'], resourceAttributes: { namespace: 'b' }, nonResourceAttributes: { path: '/' } },
    },
    [
      'spec.nonResourceAttributes: Invalid value: authorization.NonResourceAttributes{Path:"/", Verb:""}: cannot be…',
      'metadata: Invalid value: v1.ObjectMeta{Name:"", GenerateName:"", Namespace:"a", SelfLink:"", UID:"",…',
      'spec.resourceAttributes.namespace: Invalid value: "b": must match metadata.namespace',
      'spec.nonResourceAttributes: Invalid value: authorization.NonResourceAttributes{Path:"/", Verb:""}: disallowed…',
    ],
    'a',
  );
  const [field, label] = ['spec.resourceAttributes.fieldSelector', 'spec.resourceAttributes.labelSelector'];
  told(subject, asked({ fieldSelector: {}, labelSelector: { requirements: [{ key: '', operator: 'New' }] } }), [
    `${field}.requirements: Required value: when ${field} is specified, requirements or rawSelector is required`,
    `${label}.requirements[0].key: Invalid value: "": name part must be non-empty`,
    `${label}.requirements[0].key: Invalid value: "": name part must consist of…`,
  ]);
  told(self, asked({ fieldSelector: { rawSelector: 'a', requirements: [{ key: '', operator: 'In' }] } }), [
    `${field}.rawSelector: Invalid value: "a": may not specified at the same time as requirements`,
    `${field}.requirements[0].key: Required value: must be specified`,
    `${field}.requirements[0].values: Required value: must be specified when \`operator\` is 'In' or 'NotIn'`,
  ]);
});
