import { formatTime } from '@holdfast/platform';
import { valueAnswer } from '../http/object-answer.ts';
import { readReview } from '../verbs/review.ts';
import type { VirtualResource } from './port.ts';
import { userInfoOf } from './user-info.ts';

/** `kubectl auth whoami`. */
export const selfSubjectReview: VirtualResource = {
  group: 'authentication.k8s.io',
  version: 'v1',
  kind: 'SelfSubjectReview',
  plural: 'selfsubjectreviews',
  singular: 'selfsubjectreview',
  namespaced: false,
  verbs: {
    create: async (core, context) => {
      readReview(context, selfSubjectReview);
      return valueAnswer(context, 201, {
        kind: 'SelfSubjectReview',
        apiVersion: 'authentication.k8s.io/v1',
        metadata: { creationTimestamp: formatTime(core.clock.now()) },
        status: { userInfo: userInfoOf(context.user) },
      });
    },
  },
};
