export { KUBELET_SETTINGS, type KubeletConfig, readKubeletConfig } from './config.ts';
export { withConfigurationFile } from './node/kubelet-configuration.ts';
export { type OpenPodNetwork, type PodNetworkPart, startProcess } from './process.ts';
