import { type Plugin, rejectedForGood } from '../framework/plugin.ts';

/** A pod that names its node goes there or nowhere. */
export const createNodeName = (): Plugin => ({
  name: 'NodeName',
  filter: ({ pod }) => {
    if (pod.nodeName === '') return undefined;
    return ({ name }) =>
      name === pod.nodeName ? undefined : rejectedForGood("node(s) didn't match the requested node name");
  },
  retryAfter: ['node-added'],
});
