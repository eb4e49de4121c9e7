import { existsSync } from 'node:fs';
import { ensurePackages, findOnPath } from './packages.ts';

/** Debian's directory of CNI plugins. */
export const CNI_PLUGINS = '/usr/lib/cni';

/** Makes sure that a containerd with runc, networks for pods and the stuff of test images can be started. Starts nothing. */
export function ensureContainerd(): void {
  const wanted: readonly (readonly [packageName: string, isThere: boolean])[] = [
    ['containerd', findOnPath('containerd') !== undefined && findOnPath('ctr') !== undefined],
    ['runc', findOnPath('runc') !== undefined],
    ['containernetworking-plugins', existsSync(`${CNI_PLUGINS}/bridge`)],
    ['busybox-static', existsSync('/usr/share/doc/busybox-static')],
    ['iproute2', findOnPath('ip') !== undefined],
    ['iptables', findOnPath('iptables') !== undefined],
  ];
  const missing = wanted.filter(([, isThere]) => !isThere).map(([packageName]) => packageName);
  if (missing.length > 0) ensurePackages(missing);
}
