export {
  createDockerRuntime,
  type DockerRuntimeOptions,
  openDockerRuntime,
  readDockerVersion,
} from './docker-runtime.ts';
