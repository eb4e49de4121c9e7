import { type FieldError, forbidden, invalid, invalidObject, StatusError } from '@holdfast/machinery';
import { asPod } from '../admission/typed-objects.ts';
import { readLatest } from '../cache/reader.ts';
import { textAnswer } from '../http/answers.ts';
import { readInt64 } from '../http/query-values.ts';
import { isTrue } from '../http/request-info.ts';
import { keyOf } from '../objects/object-keys.ts';
import { missing } from '../verbs/write-results.ts';
import { containerOf } from './container-of.ts';
import type { Handler, Subresource } from './port.ts';

/** Finds the node of the pod and lets its kubelet answer. */
const get: Handler = async (core, context, definition) => {
  const { namespace, name } = context.info;
  const { query, signal } = context.request;
  const options = readLogOptions(query, name);
  const object = await readLatest(core, keyOf(definition, namespace, name));
  if (object === undefined) throw missing(definition, name);
  const pod = asPod(object.object);
  const container = containerOf(pod, query.get('container') ?? '');
  const node = pod.spec?.nodeName ?? '';
  if (node === '') return textAnswer(200, '', 'text/plain');
  if (core.nodes === undefined) throw noWay(name);
  return core.nodes.request(node, {
    method: 'GET',
    path: `/containerLogs/${namespace}/${name}/${container}`,
    query: options,
    headers: {},
    ...(signal === undefined ? {} : { signal }),
  });
};

export const podLog: Subresource = {
  name: 'log',
  servedBy: (definition) => definition.group === '' && definition.plural === 'pods',
  verbs: { get },
};

/** In the order of the checks. */
const NUMBERS = [
  ['tailLines', 0],
  ['limitBytes', 1],
  ['sinceSeconds', 1],
] as const;
const SWITCHES = ['follow', 'previous', 'timestamps'] as const;

function readLogOptions(query: URLSearchParams, pod: string): URLSearchParams {
  const options = new URLSearchParams();
  const errors: FieldError[] = [];
  for (const name of SWITCHES) if (isTrue(query.get(name))) options.set(name, 'true');
  for (const [name, least] of NUMBERS) {
    const text = query.get(name);
    if (text === null) continue;
    const number = readInt64(text);
    if (name === 'sinceSeconds' && query.has('sinceTime')) {
      errors.push(forbidden('[]', 'at most one of `sinceTime` or `sinceSeconds` may be specified'));
    } else if (number < least)
      errors.push(invalid(name, number, `must be greater than ${least === 0 ? 'or equal to ' : ''}0`));
    options.set(name, String(number));
  }
  const sinceTime = query.get('sinceTime');
  if (sinceTime !== null && sinceTime !== '') options.set('sinceTime', sinceTime);
  if (errors.length > 0) throw invalidObject({ group: '', kind: 'PodLogOptions', name: pod }, errors);
  return options;
}

const noWay = (name: string): StatusError =>
  new StatusError({
    code: 501,
    message: 'log of pods is not supported by this server: it has no connection to kubelets',
    details: { name, kind: 'pods' },
  });
