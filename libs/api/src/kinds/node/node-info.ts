import type { Node } from '../../generated/types.ts';

/** Of a machine that nobody has told anything about: every field is there. */
export const NO_NODE_INFO: Node['status']['nodeInfo'] = {
  architecture: '',
  bootID: '',
  containerRuntimeVersion: '',
  kernelVersion: '',
  kubeProxyVersion: '',
  kubeletVersion: '',
  machineID: '',
  operatingSystem: '',
  osImage: '',
  systemUUID: '',
};
