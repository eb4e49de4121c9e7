// Bugs that are planted into the product for one run, each as exact changes of its sources. When a source changes, the
// test of this table names the entry that no longer fits. Plain JavaScript: the hook that plants them runs before
// anything else is loaded.
import { CLIENT_BUGS } from './planted/client.mjs';
import { KUBELET_BUGS } from './planted/kubelet.mjs';
import { MANAGERS_BUGS } from './planted/managers.mjs';
import { SERVER_BUGS } from './planted/server.mjs';

/** `harm` is what happens, in the words of an operator. */
export const PLANTED_BUGS = [...KUBELET_BUGS, ...SERVER_BUGS, ...MANAGERS_BUGS, ...CLIENT_BUGS];

export const editsOf = (bug) => bug.edits ?? [bug];

/** The source with the change; throws where it does not fit any more. */
export function plantInto({ name, file, find, replace }, source) {
  const places = source.split(find).length - 1;
  if (places !== 1)
    throw new Error(`planted bug "${name ?? file}" fits ${places} places of ${file}: adapt it to the source`);
  return source.replace(find, () => replace);
}
