import { NOT_READY_TAINT, type Pod, type Toleration, UNREACHABLE_TAINT } from '@holdfast/api';
import { type AdmissionDeps, type AdmissionPlugin, isCore } from '../port.ts';
import { asPod } from '../typed-objects.ts';

/** Pods leave a node that is lost after a default time, unless their author chose another. */
export const createDefaultTolerationSeconds = (deps: AdmissionDeps): AdmissionPlugin => ({
  name: 'DefaultTolerationSeconds',
  handles: (request) => isCore(request, 'pods') && request.subresource === '' && request.operation !== 'DELETE',
  admit: ({ object }) => {
    if (object !== undefined) addTolerations(asPod(object), deps.defaultTolerationSeconds);
  },
});

function addTolerations(pod: Pod, seconds: number): void {
  const tolerations = pod.spec?.tolerations ?? [];
  const added = [NOT_READY_TAINT, UNREACHABLE_TAINT].filter(
    (key) => !tolerations.some((each) => toleratesNoExecute(each, key)),
  );
  if (added.length === 0 || pod.spec === undefined) return;
  pod.spec.tolerations = [
    ...tolerations,
    ...added.map((key) => ({ key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: seconds })),
  ];
}

function toleratesNoExecute(toleration: Toleration, key: string): boolean {
  const keyMatches = toleration.key === key || toleration.key === undefined || toleration.key === '';
  const effect = toleration.effect ?? '';
  return keyMatches && (effect === 'NoExecute' || effect === '');
}
