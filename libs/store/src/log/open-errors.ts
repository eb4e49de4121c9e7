import { OperatorError } from '@holdfast/platform';
import { withoutCredentials } from '@holdfast/platform/store-address';

export function unreachableError(servers: readonly string[], reason: string): OperatorError {
  return new OperatorError({
    code: 'STORE_UNREACHABLE',
    message: `The log at ${servers.map(withoutCredentials).join(',')} cannot be used: ${reason}`,
    nextStep:
      'Check that a majority of the NATS servers runs, that addresses and credentials are right, and start again.',
  });
}

export function noJetStreamError(cause: unknown): OperatorError {
  return new OperatorError({
    code: 'STORE_UNFIT',
    message: 'The NATS server does not answer for JetStream: it is off, or this user may not use it',
    nextStep: 'Add a jetstream section with store_dir and "sync_interval: always" to nats.conf, and start again.',
    cause,
  });
}

export function replicasError(replicas: number, cause: unknown): OperatorError {
  return new OperatorError({
    code: 'STORE_UNFIT',
    message: `The NATS servers cannot hold ${replicas} replicas of the log`,
    nextStep: `Start ${replicas} NATS servers in one cluster; for an experiment with one server give --store-replicas=1.`,
    cause,
  });
}

export function lostLogError(stream: string): OperatorError {
  return new OperatorError({
    code: 'STORE_DAMAGED',
    message: `JetStream has the record of the cluster's log, but not the log itself (stream ${stream})`,
    nextStep: 'Put the data of the NATS servers back, or restore a backup into an empty store with `holdfast restore`.',
  });
}

export function lostRecordError(stream: string, baseStream: string): OperatorError {
  return new OperatorError({
    code: 'STORE_DAMAGED',
    message: `JetStream has a log of this cluster (stream ${stream}), but not the record that names it (stream ${baseStream})`,
    nextStep:
      'Put the data of the NATS servers back, or restore a backup with `holdfast restore`; an interrupted restore can be repeated.',
  });
}

export function incompleteError(cause: Error): OperatorError {
  return new OperatorError({
    code: 'STORE_DAMAGED',
    message: `The log is not complete: ${cause.message}`,
    nextStep: 'Put the data of the NATS servers back, or restore a backup into an empty store with `holdfast restore`.',
    cause,
  });
}

export function movedError(): OperatorError {
  return new OperatorError({
    code: 'STORE_MOVED',
    message: "Another process has changed which log is the cluster's meanwhile",
    nextStep: 'Look at the state of the cluster before you adopt again: another adoption may have succeeded.',
  });
}

export function foreignError(stream: string): OperatorError {
  return new OperatorError({
    code: 'STORE_FORMAT',
    message: `Stream ${stream} holds a record that this version of Holdfast cannot read`,
    nextStep: 'Start the version of Holdfast that wrote it, or point to other NATS servers.',
  });
}

export function unsafeError(reasons: readonly string[]): OperatorError {
  return new OperatorError({
    code: 'STORE_UNSAFE',
    message: `The log would lose acknowledged writes or is not known to keep them: ${reasons.join('; ')}`,
    nextStep:
      'Correct these settings of the NATS servers and start again, or accept it for an experiment with --allow-unsafe-store.',
  });
}
