import { spawn } from 'node:child_process';
import type { Clock } from '@holdfast/platform';
import { type ExecResult, RuntimeError } from '../port.ts';
import { besideCommand } from './isolation.ts';
import { EXEC_OUTPUT_MAX_BYTES } from './limits.ts';
import { enterNetwork } from './sandbox-network.ts';
import { sendSignal } from './send-signal.ts';
import { carriedLaunch, isIsolated, type Launch, ownDirectory, plainLaunch, type SpawnContents } from './spawn.ts';

export interface BesideRequest extends SpawnContents {
  /** First process of the container. */
  readonly leader: number;
}

export interface ExecRequest extends BesideRequest {
  readonly timeoutMs: number;
}

/** Its processes carry the container's id: what it leaves behind ends with the container. */
export function execIn(clock: Clock, request: ExecRequest): Promise<ExecResult> {
  const { config } = request;
  if (config.command.length === 0) throw new RuntimeError('Unsupported', 'no command specified');
  const launch = besideLaunch(request, false);
  const [program = '', ...args] = launch.command;
  const child = spawn(program, args, {
    cwd: launch.cwd,
    env: launch.environment,
    ...(launch.tellsFailure ? {} : config.user),
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output: Buffer[] = [];
  let size = 0;
  const keep = (chunk: Buffer): void => {
    const room = EXEC_OUTPUT_MAX_BYTES - size;
    if (room <= 0) return;
    output.push(chunk.subarray(0, room));
    size += Math.min(room, chunk.length);
  };
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);
  return new Promise((resolve, reject) => {
    const deadline = clock.timer(request.timeoutMs, () => {
      reject(new RuntimeError('Timeout', `command "${config.command[0]}" timed out`));
      if (child.pid !== undefined) sendSignal(-child.pid, 'SIGKILL');
    });
    child.on('error', (error) => {
      deadline.cancel();
      reject(new RuntimeError('Internal', `exec: "${config.command[0]}": ${error.message}`));
    });
    child.once('exit', (code) => {
      deadline.cancel();
      resolve({ exitCode: code ?? 137, output: Buffer.concat(output).toString('utf8') });
    });
  });
}

/** The launch of a command beside a container. Without `tellFailure` launch errors are part of its output. */
export function besideLaunch(request: BesideRequest, tellFailure: boolean, tty = false): Launch {
  const { config, leader, sandbox, network } = request;
  if (!isIsolated(request)) return plainLaunch(request, config.command, tty, tellFailure);
  const directory = config.workingDir ?? ownDirectory(request);
  const beside = besideCommand(leader, { config, directory, userRange: sandbox.userRange }, tellFailure);
  const command = [...enterNetwork(network), ...beside];
  return carriedLaunch(request, { command, cwd: '/', tty });
}
