import { duplicate, type FieldError, invalid, required } from '@holdfast/machinery';
import type { Container, ContainerPort } from '../../generated/types.ts';
import { validateRequiredWord } from '../check.ts';
import { portNameErrors, portNumberErrors } from '../formats.ts';

export const PROTOCOLS = ['SCTP', 'TCP', 'UDP'];

export function validateContainerPorts(out: FieldError[], path: string, ports: readonly ContainerPort[]): void {
  const names = new Set<string>();
  for (const [i, port] of ports.entries()) {
    const at = `${path}[${i}]`;
    if (port.name) validatePortName(out, `${at}.name`, port.name, names);
    if (!port.containerPort) out.push(required(`${at}.containerPort`));
    else validateNumber(out, `${at}.containerPort`, port.containerPort);
    if (port.hostPort) validateNumber(out, `${at}.hostPort`, port.hostPort);
    validateRequiredWord(out, `${at}.protocol`, port.protocol, PROTOCOLS);
  }
}

function validatePortName(out: FieldError[], path: string, name: string, names: Set<string>): void {
  const errors = portNameErrors(name);
  for (const text of errors) out.push(invalid(path, name, text));
  if (errors.length > 0) return;
  if (names.has(name)) out.push(duplicate(path, name));
  names.add(name);
}

function validateNumber(out: FieldError[], path: string, port: number): void {
  for (const text of portNumberErrors(port)) out.push(invalid(path, port, text));
}

/** Two containers cannot use the same host port. */
export function validateHostPortsUnique(out: FieldError[], path: string, containers: readonly Container[]): void {
  const taken = new Set<string>();
  for (const [i, container] of containers.entries()) {
    for (const [j, port] of (container.ports ?? []).entries()) {
      if (!port.hostPort) continue;
      const key = `${port.protocol ?? ''}/${port.hostIP ?? ''}/${port.hostPort}`;
      if (taken.has(key)) out.push(duplicate(`${path}[${i}].ports[${j}].hostPort`, key));
      taken.add(key);
    }
  }
}
