import { StatusError } from '@holdfast/machinery';
import { readLatest } from '../reader.ts';
import { keyOf } from '../served.ts';
import { missing } from '../verbs/write-results.ts';
import type { Handler, Subresource } from './port.ts';

/** Streams to and from the processes of a pod need a way from here to its kubelet, which this server does not have yet. */
const refuse =
  (what: string): Handler =>
  async (core, context, definition) => {
    const { namespace, name } = context.info;
    const object = await readLatest(core, keyOf(definition, namespace, name));
    if (object === undefined) throw missing(definition, name);
    throw new StatusError({
      code: 501,
      message: `${what} of ${definition.plural} is not supported by this server: it has no connection to kubelets`,
      details: { name, kind: definition.plural },
    });
  };

const onPods = (name: string, ...verbs: readonly string[]): Subresource => ({
  name,
  servedBy: (definition) => definition.group === '' && definition.plural === 'pods',
  verbs: Object.fromEntries(verbs.map((verb) => [verb, refuse(name)])),
});

export const podExec = onPods('exec', 'create', 'get');
export const podAttach = onPods('attach', 'create', 'get');
export const podPortForward = onPods('portforward', 'create', 'get');
