import type { Node } from '../../generated/types.ts';

/** The info of a node without a report: all fields are present. */
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
