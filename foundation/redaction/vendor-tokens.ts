import { readKinds } from './kind-table.ts';
import type { CredentialKind } from './pattern.ts';

/**
 * Credentials of clouds, networks, source code, builds and packages that vendors gave a form of their own. Lengths are
 * lower bounds, below the real ones where the beginning says enough: a credential that has lost its last characters can
 * be guessed, and the sooner it is certain, the shorter the text waits. They are exact where the beginning is short and
 * a longer run would be something else.
 */
export const VENDOR_TOKENS: readonly CredentialKind[] = readKinds(`
gateway-key  (hk|acp)_{url 32}
  This gateway's own API keys and static tokens: 256 random bits in base64url kernel/auth/api-key-material.ts
aws-access-key-id  (AKIA|ASIA|ABIA|ACCA){upper 16-16}!
  AWS access key id: long-lived, temporary, of Bedrock, of contexts https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html
aws-bedrock-api-key  ABSK{base64 80} bedrock-api-key-{base64 40}
  Amazon Bedrock API key, long-lived and short-lived gitleaks:aws-amazon-bedrock-api-key-long-lived
aws-session-token  (IQoJb3JpZ2lu|FwoGZXIvYXdz){base64 80}{base64+= 0}
  AWS session token of temporary credentials trufflehog:aws
aws-appsync-key  da2-{lower 26-26}!
  AWS AppSync API key noseyparker:aws.yml
amazon-mws-token  amzn.mws.{uuid 36-36}!
  Amazon MWS authorization token noseyparker:aws.yml
azure-client-secret  *{digit 1-1}Q~{url+.~ 31}
  Microsoft Entra ID (Azure AD) client secret; the three characters before the digit stay gitleaks:azure-ad-client-secret
alibaba-access-key-id  LTAI{alnum 12-26~}!
  Alibaba Cloud access key id gitleaks:alibaba-access-key-id
yandex-cloud-key  AQVN{url 35} t1.{url 8-200}.{url 60}
  Yandex Cloud API key and IAM token gitleaks:yandex-api-key
digitalocean-token  (dop|doo|dor)_v1_{HEX 20}
  DigitalOcean personal, OAuth and refresh tokens gitleaks:digitalocean-pat
cloudflare-token  (cfk|cfut|cfat)_{alnum 24~} v1.0-{hex 24-24}-{hex 100}
  Cloudflare global key, user, account and origin CA tokens https://developers.cloudflare.com/fundamentals/api/get-started/token-formats/
heroku-api-key  HRKU-{url 30}
  Heroku API key gitleaks:heroku-api-key-v2
fly-access-token  fo1_{url 40} (fm1a|fm1r|fm2)_{base64 60}
  Fly.io access token gitleaks:flyio-access-token
netlify-token  nf(p|c|o|u|b)_{word 30~}
  Netlify personal, CLI, OAuth, UI and build tokens https://docs.netlify.com/api-and-cli-guides/api-guides/get-started-with-api/
scalingo-token  tk-us-{url 40}
  Scalingo API token gitleaks:scalingo-api-token
deno-token  dd(p|w)_{alnum 30~}
  Deno Deploy access token trufflehog:deno
terraform-cloud-token  *.atlasv1.→{url+= 40}
  HCP Terraform (Terraform Cloud) token; its id stays gitleaks:hashicorp-tf-api-token
vault-token  hv(s|b|r).{url 24}
  HashiCorp Vault service, batch and recovery tokens https://developer.hashicorp.com/vault/docs/concepts/tokens#token-prefixes
pulumi-token  pul-{hex 40}
  Pulumi access token gitleaks:pulumi-api-token
infracost-api-key  ico-{alnum 32-32~}!
  Infracost API key gitleaks:infracost-api-token
doppler-token  dp.(pt|ct|sa|scim|audit|st).{alnum 30} dp.st.{lower+_- 2-35}.{alnum 30}
  Doppler personal, CLI, service, SCIM and audit tokens trufflehog:doppler
onepassword-key  ops_eyJ{base64 100} A3-{upper 6-6}-{upper+- 20}
  1Password service account token and secret key gitleaks:1password-service-account-token
tailscale-key  tskey-{url 20~}
  Tailscale API, authorization and OAuth keys trufflehog:tailscale
defined-networking-token  dnkey-{url+= 40}
  Defined Networking API token gitleaks:defined-networking-api-token
docker-token  dckr_(pat|oat)_{url 20}
  Docker Hub personal and organization access tokens https://docs.docker.com/security/access-tokens/
docker-swarm-token  SWMTKN-1-{lower 40-60}-{lower 20}
  Docker Swarm join token https://docs.docker.com/engine/swarm/join-nodes/
openshift-token  sha256~{url 40}
  OpenShift user token gitleaks:openshift-user-token
rancher-token  token-{lower 5-5}:{lower 40}
  Rancher API token https://ranchermanager.docs.rancher.com/api/api-tokens
age-secret-key  AGE-SECRET-KEY-1{upper 20}
  Secret key of age gitleaks:age-secret-key
github-token  gh(p|o|u|s|r)_{alnum 20} github_pat_{word 20}
  GitHub tokens https://github.blog/engineering/platform-security/behind-githubs-new-authentication-token-formats/
gitlab-token  GR1348941{url 20} gl(pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat|ffct)-{url 20} gl(pat|rt)-{url 20-300}.{lower 2-2}.{lower 7-9} gl(pat|rt)-{url 20-300}.{lower 9-9}
  GitLab personal, deploy, runner, job, trigger, feed, mail, agent, OAuth and SCIM tokens https://docs.gitlab.com/security/tokens/#token-prefixes
atlassian-token  ATATT3{url+= 30} ATCTT3{url+= 30} ATBB{alnum 28~} ATTA{HEX 60}
  Atlassian API token, Bitbucket access token and app password, Trello token gitleaks:atlassian-api-token
bitbucket-server-token  BBDC-{base64+_@- 40}
  Bitbucket Data Center access token trufflehog:atlassiandatacenter
circleci-token  CCI(PAT|PRJ)_{alnum 20-24}_{HEX 40}
  CircleCI personal and project tokens trufflehog:circleci
buildkite-token  bk(ua|ct|aj)_{alnum 30~}
  Buildkite API, cluster and job tokens trufflehog:buildkite
harness-token  (pat|sat).{url 22-22}.{alnum 24-24}.{alnum 20}
  Harness API key gitleaks:harness-api-key
octopus-api-key  API-{upper 26-26}!
  Octopus Deploy API key gitleaks:octopus-deploy-api-key
jenkins-token  11{hex 32-32}!
  Jenkins API token https://www.jenkins.io/doc/book/system-administration/authenticating-scripted-clients/
jetbrains-token  perm(:|-){base64+= 8-120}.{base64+= 4-120}.{alnum 20}
  JetBrains YouTrack and Hub permanent token https://www.jetbrains.com/help/youtrack/devportal/Manage-Permanent-Token.html
artifactory-token  AKCp{alnum 60} cmVmdGtu{alnum 50}
  JFrog Artifactory API key and reference token gitleaks:artifactory-api-key
sonar-token  sq(u|p|a)_{alnum 30~} sqco_{alnum 40}
  SonarQube user, project and global tokens, SonarQube Cloud tokens gitleaks:sonar-api-token
sourcegraph-token  (sgp|slk)_{HEX 40} sgp_{HEX 16-16}_{HEX 30} sgp_local_{HEX 30}
  Sourcegraph access token and Cody key gitleaks:sourcegraph-access-token
stackhawk-api-key  hawk.{url 20-20}.{url 20}
  StackHawk API key noseyparker:stackhawk.yml
endor-labs-key  endr+{alnum+- 16}
  Endor Labs API key trufflehog:endorlabs
nightfall-api-key  NF-{alnum 32-32~}!
  Nightfall API key trufflehog:nightfall
dependency-track-key  odt_{alnum 32~}
  Dependency-Track API key noseyparker:dependency_track.yml
trufflehog-key  thog-(key|secret)-{hex 16}
  TruffleHog Enterprise keys trufflehog:trufflehogenterprise
npm-token  npm_{alnum 20~}
  npm access token gitleaks:npm-access-token
pypi-token  pypi-AgE{url 20}
  PyPI upload token: a macaroon, which always begins like this in base64 gitleaks:pypi-upload-token
rubygems-token  rubygems_{hex 20}
  RubyGems API key gitleaks:rubygems-api-token
nuget-api-key  oy2{lower 43-43}!
  NuGet API key noseyparker:nuget.yml
crates-io-token  cio{alnum 32-32~}!
  crates.io API token noseyparker:crates.io.yml
clojars-token  CLOJARS_{alnum 40}
  Clojars deploy token gitleaks:clojars-api-token
packagist-token  packagist_(ort|oat|uut)_{hex 40}
  Private Packagist API token https://packagist.com/docs/api
`);
