export { FakeApi, type FakeChange, pathFor } from './fake-api.ts';
export { createTestCertificate, type TestCertificate } from './https-server.ts';
export { serialAt, serialOf } from './shown-certificate.ts';
