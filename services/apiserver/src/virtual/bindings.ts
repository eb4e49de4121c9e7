import { bindNamedPod } from '../subresources/binding.ts';
import type { VirtualResource } from './port.ts';

/** The legacy way of binding, before the `binding` subresource. */
export const bindings: VirtualResource = {
  group: '',
  version: 'v1',
  kind: 'Binding',
  plural: 'bindings',
  singular: 'binding',
  namespaced: true,
  verbs: { create: bindNamedPod },
};
