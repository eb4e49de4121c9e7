import { type FieldError, forbidden, invalid, notFoundValue, notSupported, required } from '@holdfast/machinery';
import type { Container, EphemeralContainer, VolumeDevice, VolumeMount } from '../../generated/types.ts';
import { validateWord } from '../check.ts';
import { validateDescendingPath } from '../paths.ts';
import type { Volumes } from './volumes.ts';

type AnyContainer = Readonly<Container | EphemeralContainer>;

export function validateVolumeMounts(out: FieldError[], path: string, container: AnyContainer, volumes: Volumes): void {
  const devices = new Map((container.volumeDevices ?? []).map((each) => [each.name ?? '', each.devicePath ?? '']));
  const devicePaths = new Set(devices.values());
  const mountPoints = new Set<string>();
  for (const [i, mount] of (container.volumeMounts ?? []).entries()) {
    const at = `${path}[${i}]`;
    const name = mount.name ?? '';
    const point = mount.mountPath ?? '';
    if (name === '') out.push(required(`${at}.name`));
    if (!volumes.has(name)) out.push(notFoundValue(`${at}.name`, name));
    if (point === '') out.push(required(`${at}.mountPath`));
    if (mountPoints.has(point)) out.push(invalid(`${at}.mountPath`, point, 'must be unique'));
    mountPoints.add(point);
    if (devices.has(name)) {
      out.push(invalid(`${at}.name`, name, 'must not already exist in volumeDevices'));
    }
    if (devicePaths.has(point)) {
      out.push(invalid(`${at}.mountPath`, point, 'must not already exist as a path in volumeDevices'));
    }
    validateMountDetails(out, path, at, { mount, container });
  }
}

function validateMountDetails(
  out: FieldError[],
  path: string,
  at: string,
  { mount, container }: { readonly mount: Readonly<VolumeMount>; readonly container: AnyContainer },
): void {
  if (mount.subPath) validateDescendingPath(out, `${path}.subPath`, mount.subPath);
  if (mount.subPathExpr) {
    if (mount.subPath) {
      out.push(invalid(`${at}.subPathExpr`, mount.subPathExpr, 'subPathExpr and subPath are mutually exclusive'));
    }
    validateDescendingPath(out, `${path}.subPathExpr`, mount.subPathExpr);
  }
  validatePropagation(out, `${path}.mountPropagation`, mount, container);
  validateRecursiveReadOnly(out, `${path}.recursiveReadOnly`, mount);
}

function validatePropagation(
  out: FieldError[],
  path: string,
  { mountPropagation }: Readonly<VolumeMount>,
  container: AnyContainer,
): void {
  validateWord(out, path, mountPropagation, ['Bidirectional', 'HostToContainer', 'None']);
  if (mountPropagation === 'Bidirectional' && container.securityContext?.privileged !== true) {
    out.push(forbidden(path, 'Bidirectional mount propagation is available only to privileged containers'));
  }
}

function validateRecursiveReadOnly(out: FieldError[], path: string, mount: Readonly<VolumeMount>): void {
  const mode = mount.recursiveReadOnly;
  if (mode === undefined || mode === 'Disabled') return;
  if (mode !== 'Enabled' && mode !== 'IfPossible') {
    out.push(notSupported(path, mode, ['Disabled', 'Enabled', 'IfPossible']));
    return;
  }
  if (mount.readOnly !== true) out.push(forbidden(path, 'may only be specified when readOnly is true'));
  if (mount.mountPropagation !== undefined && mount.mountPropagation !== 'None') {
    out.push(forbidden(path, 'may only be specified when mountPropagation is None or not specified'));
  }
}

export function validateVolumeDevices(
  out: FieldError[],
  path: string,
  container: AnyContainer,
  volumes: Volumes,
): void {
  const mounts = new Map((container.volumeMounts ?? []).map((mount) => [mount.name ?? '', mount.mountPath ?? '']));
  const mountPaths = new Set(mounts.values());
  const names = new Set<string>();
  const paths = new Set<string>();
  for (const [i, device] of (container.volumeDevices ?? []).entries()) {
    const at = `${path}[${i}]`;
    validateDeviceName(out, `${at}.name`, device.name ?? '', { names, volumes });
    validateDevicePath(out, `${at}.devicePath`, device.devicePath ?? '', paths);
    validateNoMount(out, at, device, { mounts, mountPaths });
    if (device.name) names.add(device.name);
  }
}

function validateDeviceName(
  out: FieldError[],
  path: string,
  name: string,
  { names, volumes }: { readonly names: ReadonlySet<string>; readonly volumes: Volumes },
): void {
  const volume = volumes.get(name);
  if (name === '') out.push(required(path));
  if (names.has(name)) out.push(invalid(path, name, 'must be unique'));
  if (volume === undefined) out.push(notFoundValue(path, name));
  else if (volume.persistentVolumeClaim === undefined && volume.ephemeral === undefined) {
    const detail = 'can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode';
    out.push(invalid(path, name, detail));
  }
}

function validateDevicePath(out: FieldError[], path: string, devicePath: string, paths: Set<string>): void {
  if (devicePath === '') out.push(required(path));
  if (paths.has(devicePath)) out.push(invalid(path, devicePath, 'must be unique'));
  if (devicePath.split('/').includes('..')) out.push(invalid(path, devicePath, "can not contain backsteps ('..')"));
  else paths.add(devicePath);
}

function validateNoMount(
  out: FieldError[],
  path: string,
  device: Readonly<VolumeDevice>,
  { mounts, mountPaths }: { readonly mounts: ReadonlyMap<string, string>; readonly mountPaths: ReadonlySet<string> },
): void {
  const name = device.name ?? '';
  const devicePath = device.devicePath ?? '';
  if (mounts.has(name)) out.push(invalid(`${path}.name`, name, 'must not already exist in volumeMounts'));
  if (mountPaths.has(devicePath)) {
    out.push(invalid(`${path}.devicePath`, devicePath, 'must not already exist as a path in volumeMounts'));
  }
}
