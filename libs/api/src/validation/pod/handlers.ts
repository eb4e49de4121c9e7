import { type FieldError, forbidden, invalid, required } from '@holdfast/machinery';
import type { ExecAction, HTTPGetAction, Lifecycle, LifecycleHandler, Probe } from '../../generated/types.ts';
import { validateRequiredText, validateText, validateWord } from '../check.ts';
import { httpHeaderNameErrors, portNameErrors, portNumberErrors } from '../formats.ts';
import { validateNonNegative, validatePositive } from '../numbers.ts';

export function validateLifecycle(
  out: FieldError[],
  path: string,
  lifecycle: Readonly<Lifecycle> | undefined,
  graceSeconds: number,
): void {
  for (const key of ['postStart', 'preStop'] as const) {
    const handler = lifecycle?.[key];
    if (handler !== undefined) validateHandler(out, `${path}.${key}`, handler, graceSeconds);
  }
}

type Handler = Omit<Probe, 'sleep'> & Pick<LifecycleHandler, 'sleep'>;

/** Requires exactly one action; the first given one counts. */
function validateHandler(out: FieldError[], path: string, handler: Readonly<Handler>, graceSeconds: number): void {
  const given = (['exec', 'httpGet', 'tcpSocket', 'grpc', 'sleep'] as const).filter(
    (key) => handler[key] !== undefined,
  );
  const [first, ...others] = given;
  if (first === undefined) out.push(required(path, 'must specify a handler type'));
  if (first === 'exec') validateExec(out, `${path}.exec`, handler.exec);
  if (first === 'httpGet') validateHttpGet(out, `${path}.httpGet`, handler.httpGet);
  if (first === 'tcpSocket') validatePort(out, `${path}.tcpSocket.port`, handler.tcpSocket?.port ?? 0);
  if (first === 'grpc') validatePort(out, `${path}.grpc.port`, handler.grpc?.port ?? 0);
  if (first === 'sleep') validateSleep(out, `${path}.sleep`, handler.sleep?.seconds ?? 0, graceSeconds);
  for (const key of others) out.push(forbidden(`${path}.${key}`, 'may not specify more than 1 handler type'));
}

function validateExec(out: FieldError[], path: string, exec: Readonly<ExecAction> | undefined): void {
  if ((exec?.command ?? []).length === 0) out.push(required(`${path}.command`));
}

function validateHttpGet(out: FieldError[], path: string, http: Readonly<HTTPGetAction> | undefined): void {
  if (http === undefined) return;
  validateRequiredText(out, `${path}.path`, http.path);
  validatePort(out, `${path}.port`, http.port ?? 0);
  validateWord(out, `${path}.scheme`, http.scheme ?? '', ['HTTP', 'HTTPS']);
  for (const { name } of http.httpHeaders ?? []) {
    validateText(out, `${path}.httpHeaders`, name ?? '', httpHeaderNameErrors);
  }
}

export function validatePort(out: FieldError[], path: string, port: number | string): void {
  const errors = typeof port === 'number' ? portNumberErrors(port) : portNameErrors(port);
  for (const text of errors) out.push(invalid(path, port, text));
}

function validateSleep(out: FieldError[], path: string, seconds: number, graceSeconds: number): void {
  if (seconds > 0 && seconds <= graceSeconds) return;
  const limit = `must be greater than 0 and less than terminationGracePeriodSeconds (${graceSeconds}).`;
  out.push(
    invalid(path, seconds, `${limit} Enable AllowPodLifecycleSleepActionZeroValue feature gate for zero sleep.`),
  );
}

type ProbeKind = 'livenessProbe' | 'readinessProbe' | 'startupProbe';

export const PROBES: readonly ProbeKind[] = ['livenessProbe', 'readinessProbe', 'startupProbe'];

export function validateProbe(
  out: FieldError[],
  path: string,
  kind: ProbeKind,
  probe: Readonly<Probe> | undefined,
): void {
  if (probe === undefined) return;
  validateHandler(out, path, probe, 0);
  for (const key of PROBE_COUNTS) validateNonNegative(out, `${path}.${key}`, probe[key]);
  const grace = probe.terminationGracePeriodSeconds;
  validatePositive(out, `${path}.terminationGracePeriodSeconds`, grace);
  if (kind === 'readinessProbe') {
    if (grace === undefined) return;
    out.push(invalid(`${path}.terminationGracePeriodSeconds`, grace, 'must not be set for readinessProbes'));
  } else if (probe.successThreshold !== 1) {
    out.push(invalid(`${path}.successThreshold`, probe.successThreshold ?? 0, 'must be 1'));
  }
}

const PROBE_COUNTS = [
  'initialDelaySeconds',
  'timeoutSeconds',
  'periodSeconds',
  'successThreshold',
  'failureThreshold',
] as const;
