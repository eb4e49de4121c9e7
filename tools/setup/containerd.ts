import { existsSync } from 'node:fs';
import { busybox, ensureMissing, findOnPath } from './packages.ts';

/** Debian's directory of CNI plugins. */
export const CNI_PLUGINS = '/usr/lib/cni';

/** Makes sure that a containerd with runc, networks for pods and the stuff of test images can be started. Starts nothing. */
export function ensureContainerd(): void {
  ensureMissing([
    ['containerd', findOnPath('containerd') !== undefined && findOnPath('ctr') !== undefined],
    ['runc', findOnPath('runc') !== undefined],
    ['containernetworking-plugins', existsSync(`${CNI_PLUGINS}/bridge`)],
    ['iproute2', findOnPath('ip') !== undefined],
    ['iptables', findOnPath('iptables') !== undefined],
    busybox(),
  ]);
}
