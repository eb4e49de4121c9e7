import { setOwn } from '@holdfast/machinery';
import type {
  Container,
  ContainerPort,
  EphemeralContainer,
  HTTPGetAction,
  LifecycleHandler,
  Probe,
} from '../generated/types.ts';
import { imageTag } from '../validation/image-name.ts';
import { setResourceListDefaults } from './resources.ts';
import { setDefault, setDefaultOfZero } from './set.ts';

export function setContainerDefaults(container: Container | EphemeralContainer): void {
  setDefault(container, 'resources', {});
  setResourceListDefaults(container.resources.limits);
  setResourceListDefaults(container.resources.requests);
  setDefaultOfZero(
    container,
    'imagePullPolicy',
    imageTag(container.image ?? '') === 'latest' ? 'Always' : 'IfNotPresent',
  );
  setDefaultOfZero(container, 'terminationMessagePath', '/dev/termination-log');
  setDefaultOfZero(container, 'terminationMessagePolicy', 'File');
  for (const port of container.ports ?? []) setDefaultOfZero(port, 'protocol', 'TCP');
  for (const { valueFrom } of container.env ?? []) {
    if (valueFrom?.fieldRef !== undefined) setDefaultOfZero(valueFrom.fieldRef, 'apiVersion', 'v1');
    if (valueFrom?.resourceFieldRef !== undefined) setDefault(valueFrom.resourceFieldRef, 'divisor', '0');
  }
  setProbeDefaults(container.livenessProbe);
  setProbeDefaults(container.readinessProbe);
  setProbeDefaults(container.startupProbe);
  setHandlerDefaults(container.lifecycle?.postStart);
  setHandlerDefaults(container.lifecycle?.preStop);
}

function setProbeDefaults(probe: Probe | undefined): void {
  if (probe === undefined) return;
  setDefaultOfZero(probe, 'timeoutSeconds', 1);
  setDefaultOfZero(probe, 'periodSeconds', 10);
  setDefaultOfZero(probe, 'successThreshold', 1);
  setDefaultOfZero(probe, 'failureThreshold', 3);
  if (probe.grpc !== undefined) setDefault(probe.grpc, 'service', '');
  setHttpGetDefaults(probe.httpGet);
}

const setHandlerDefaults = (handler: LifecycleHandler | undefined): void => setHttpGetDefaults(handler?.httpGet);

function setHttpGetDefaults(action: HTTPGetAction | undefined): void {
  if (action === undefined) return;
  setDefaultOfZero(action, 'path', '/');
  setDefaultOfZero(action, 'scheme', 'HTTP');
}

/** In the host network a container's port is also the host port. */
export function setHostPorts(ports: readonly ContainerPort[] | undefined): void {
  for (const port of ports ?? []) if (port.containerPort) setDefaultOfZero(port, 'hostPort', port.containerPort);
}

/** Requests default to limits. */
export function setRequestsFromLimits(container: Container): void {
  const limits = container.resources.limits;
  if (limits === undefined) return;
  const requests = (container.resources.requests ??= {});
  for (const [name, amount] of Object.entries(limits))
    if (!Object.hasOwn(requests, name)) setOwn(requests, name, amount);
}
