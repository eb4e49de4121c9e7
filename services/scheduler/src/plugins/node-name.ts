import { define } from '../framework/definition.ts';
import { checking, rejectedForGood, SKIP } from '../framework/plugin.ts';

const OTHER_NODE = rejectedForGood("node(s) didn't match the requested node name");

/** A pod that names its node fits only there. */
export const NODE_NAME = define('NodeName', ['filter'], () => ({
  localFilter: true,
  preFilter: ({ pod }) => {
    if (pod.nodeName === '') return SKIP;
    return checking(({ name }) => (name === pod.nodeName ? undefined : OTHER_NODE));
  },
  wakesOn: { 'node-added': (pod, node) => pod.nodeName === '' || pod.nodeName === node.name },
}));
