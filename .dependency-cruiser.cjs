/** The import rules of the architecture: who may know whom. */
module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      comment: 'A cycle means that two files are one concept, or that a concept lies in the wrong file.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'foundation-knows-nobody',
      comment: 'What everybody leans on knows nothing of requests, plugins or tests.',
      severity: 'error',
      from: { path: '^foundation/' },
      to: { path: '^(kernel|plugins|testing)/' },
    },
    {
      name: 'kernel-knows-no-plugin',
      severity: 'error',
      from: { path: '^kernel/' },
      to: { path: '^(plugins|testing)/' },
    },
    {
      name: 'plugin-knows-only-the-kernel-index',
      comment:
        'Plugins import the kernel as `agent-gateway`, so that they read the same inside and outside the tree.',
      severity: 'error',
      from: { path: '^plugins/' },
      to: { path: '^(kernel|foundation|testing)/', pathNot: '^(kernel|testing)/index\\.ts$' },
    },
    {
      name: 'plugin-knows-only-contracts-of-others',
      severity: 'error',
      from: { path: '^plugins/([^/]+)/' },
      to: { path: '^plugins/', pathNot: ['^plugins/$1/', '^plugins/[^/]+/contract\\.ts$'] },
    },
    {
      name: 'logic-knows-no-transport',
      severity: 'error',
      from: { path: '^plugins/[^/]+/(services|store)/' },
      to: { path: '^node_modules/(koa|@koa|@grpc)/' },
    },
    {
      name: 'logic-knows-no-routes',
      severity: 'error',
      from: { path: '^plugins/[^/]+/(services|store)/' },
      to: { path: '^plugins/[^/]+/(routes|grpc)/' },
    },
    {
      name: 'transport-knows-no-orm',
      severity: 'error',
      from: { path: '^plugins/[^/]+/(routes|grpc)/' },
      to: { path: '^node_modules/@mikro-orm/' },
    },
    {
      name: 'api-has-no-behaviour-of-others',
      comment: 'kernel/api says what a plugin is; it may name the types of the kernel, never run it.',
      severity: 'error',
      from: { path: '^kernel/api/' },
      to: {
        path: '^(kernel/(host|chain|http)|foundation/(data|config))/',
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'tests-are-not-imported',
      severity: 'error',
      from: { path: '^(kernel|foundation|plugins|cli|testing)/' },
      to: { path: '^(test|scripts)/' },
    },
    {
      name: 'command-knows-no-plugin',
      comment: 'The command stands on the kernel, as its process does: plugins are found, not named.',
      severity: 'error',
      from: { path: '^cli/' },
      to: { path: '^(plugins|testing)/' },
    },
    {
      name: 'nobody-needs-the-command',
      severity: 'error',
      from: { path: '^(kernel|foundation|plugins|testing)/' },
      to: { path: '^cli/' },
    },
    {
      name: 'everything-resolves',
      comment: 'Programs of clients import types that their test generates.',
      severity: 'error',
      from: { pathNot: '^test/e2e/openapi/client/' },
      to: { couldNotResolve: true },
    },
    {
      name: 'production-code-needs-production-dependencies',
      severity: 'error',
      from: { path: '^(kernel|plugins|cli)/', pathNot: '^testing/' },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'], dependencyTypesNot: ['type-only'] },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default'],
      extensions: ['.ts', '.js', '.json'],
    },
  },
};
