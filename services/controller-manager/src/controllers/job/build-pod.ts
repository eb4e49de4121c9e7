import { COMPLETION_INDEX_ANNOTATION, type Container, type Job, type Pod } from '@holdfast/api';
import { controllerReference, nameOf, namespaceOf, uidOf } from '../../common/meta.ts';
import { freePodNames, type NameSearch } from '../../common/names.ts';
import { GENERATED_NAME_BASE_MAX_CHARS, generatedNamePrefix, podFromTemplate } from '../../common/pods.ts';
import { hasLimitPerIndex, withTracking } from './facts.ts';
import { failureAnnotations } from './per-index.ts';

/** The names that a new pod may not have. */
export type NameRoom = Pick<NameSearch, 'held' | 'avoided' | 'now'>;

export function buildPods(job: Job, count: number, room: NameRoom): readonly Pod[] {
  const prefix = generatedNamePrefix(nameOf(job));
  const search = { ...room, prefix, seed: uidOf(job), expected: room.held.size };
  return freePodNames(search, count).map((name) => basePod(job, name, prefix));
}

export function buildIndexedPods(
  job: Job,
  indexes: readonly number[],
  of: { readonly room: NameRoom; readonly lastFailed: ReadonlyMap<number, Pod> },
): readonly Pod[] {
  return indexes.flatMap((index) => {
    const prefix = `${nameOf(job).slice(0, GENERATED_NAME_BASE_MAX_CHARS - `-${index}-`.length)}-${index}-`;
    const names = freePodNames({ ...of.room, prefix, seed: `${uidOf(job)}/${index}`, expected: 1 }, 1);
    return names.map((name) => withIndex(job, index, basePod(job, name, prefix), of.lastFailed.get(index)));
  });
}

const basePod = (job: Job, name: string, generateName: string): Pod =>
  withTracking(
    podFromTemplate(job.spec.template, {
      namespace: namespaceOf(job),
      name,
      generateName,
      owner: controllerReference(job, { apiVersion: 'batch/v1', kind: 'Job' }),
    }),
  );

function withIndex(job: Job, index: number, pod: Pod, lastFailed: Pod | undefined): Pod {
  const mark = { [COMPLETION_INDEX_ANNOTATION]: String(index) };
  const failures = hasLimitPerIndex(job) ? failureAnnotations(job, lastFailed) : {};
  const { spec, metadata } = pod;
  return {
    ...pod,
    metadata: {
      ...metadata,
      labels: { ...metadata.labels, ...mark },
      annotations: { ...metadata.annotations, ...mark, ...failures },
    },
    spec: {
      ...spec,
      hostname: `${nameOf(job)}-${index}`,
      containers: spec.containers.map(withIndexVariable),
      ...(spec.initContainers === undefined ? {} : { initContainers: spec.initContainers.map(withIndexVariable) }),
    },
  };
}

const INDEX_VARIABLE = 'JOB_COMPLETION_INDEX';

function withIndexVariable(container: Container): Container {
  const env = container.env ?? [];
  if (env.some(({ name }) => name === INDEX_VARIABLE)) return container;
  const fieldRef = { apiVersion: 'v1', fieldPath: `metadata.labels['${COMPLETION_INDEX_ANNOTATION}']` };
  return { ...container, env: [...env, { name: INDEX_VARIABLE, valueFrom: { fieldRef } }] };
}
