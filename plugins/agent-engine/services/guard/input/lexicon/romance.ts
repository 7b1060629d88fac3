import type { Lexicon } from '../concept.ts';

/** French. */
export const french: Lexicon = {
  override:
    'ignore, ignorez, ignorer, oublie, oubliez, oublier, contourne, contournez, outrepasse, outrepassez, fais abstraction, faites abstraction, ne tiens pas compte, ne tenez pas compte, ne tiens plus compte, ne tenez plus compte, ne suis plus, ne suivez plus, ne suis pas, ne respecte plus, ne respectez plus, annule, annulez, remplace, désactive, désactivez, passe outre, supprime, supprimez, efface, laisse tomber, abandonne, arrête de suivre, cesse de suivre, mets de côté, néglige, négligez',
  overrideLast:
    'ne s appliquent plus, sont annulées, ne sont plus valables, sont levées, sont caduques, ne s applique plus, sont suspendues',
  prior:
    'précédent*, antérieur*, ci dessus, initial*, d avant, originales, original, avant, plus haut, préalable*, reçues, données, actuelles, existantes',
  rules:
    'instruction*, règle*, consigne*, directive*, ordres, restriction*, contrainte*, limitation*, invite, prompt, prompts, filtre*, politique*, commandes, garde fou*',
  prompt:
    'prompt système, invite système, prompt system, message système, instructions système, instructions cachées, instructions secrètes, instructions initiales, prompt initial, consignes cachées, consignes secrètes, consignes initiales, prompt caché, prompt secret, instructions internes, consignes internes, règles internes, instructions confidentielles, instructions de départ, règles cachées, instructions d origine, consignes de départ, prompt d origine',
  aboveText:
    'tout ce qui précède, texte ci dessus, tout le texte au dessus, ce qui est écrit au dessus, tout ce qui est au dessus, texte qui précède, tout le contexte',
  your: 'ton, ta, tes, votre, vos, que tu as reçues, que tu as reçu, que l on t a, qu on t a, t ont été données, que vous avez reçues, qui te sont, reçues, données',
  my: 'mon, mes, ma, j ai dit, je t ai, j ai écrit, nos, notre',
  all: 'tout, toutes, tous, toute, l ensemble',
  reveal:
    'révèle, révélez, montre, montrez, affiche, affichez, répète, répétez, donne, donnez, divulgue, divulguez, imprime, écris, écrivez, recopie, recopiez, dis moi, dites moi, quel est, quelles sont, quels sont, quelle est, communique, partage, cite, traduis, énumère, liste, fais moi voir, copie, résume, dévoile, dévoilez, récite, que disent, transcris',
  verbatim:
    'mot pour mot, textuellement, verbatim, intégralement, exactement, dans un bloc de code, à la lettre, tel quel, telles quelles, en entier, mot à mot, l intégralité, sans rien omettre, intégralité',
  role: 'tu es maintenant, vous êtes maintenant, tu es désormais, vous êtes désormais, agis comme, agissez comme, fais comme si, faites comme si, fais semblant, faites semblant, joue le rôle, jouez le rôle, imagine que tu, imaginez que vous, comporte toi comme, à partir de maintenant, désormais, dorénavant, prétends, active, activez, incarne, incarnez, passe en mode, passez en mode, réponds comme',
  unbound:
    'sans restriction*, sans aucune restriction*, sans limite*, sans aucune limite*, sans filtre*, sans aucun filtre, sans censure, sans règles, sans aucune règle, sans contrainte*, aucune restriction, aucune limite, aucune règle, aucun filtre, pas de restrictions, non censuré*, mode développeur, sans morale, sans éthique, libre de toute, libéré de toute*, sans tabou, ne refuse jamais, ne refuses jamais, ni règles, mode dieu, plus aucune restriction, plus aucune règle',
  ethics: 'éthique*, morale, moral, politique de contenu, censure, sécurité, règles de sécurité, garde fous',
  not: 'pas, jamais, sans, ne',
  follow: 'suis, suivez, exécute, exécutez, obéis, fais ce, applique, appliquez',
  fresh:
    'nouvelles instructions, nouvelle instruction, nouvelle tâche, nouvelles règles, nouvelles consignes, à la place, plutôt, vraie tâche, nouvelle mission, n obéis qu, n écoute que',
  send: 'envoie, envoyez, envoyer, transmets, transmettez, poste, publie, transfère, téléverse, fais suivre, expédie, communique',
  private:
    'conversation, historique, mot de passe, mots de passe, identifiants, clé api, clés api, secrets, données de l utilisateur, données personnelles, données confidentielles, données privées, carte bancaire, jetons, courriels, données clients',
  destination: 'cette adresse, l adresse, cette url',
  reader:
    'ia, assistant ia, assistants ia, modèle de langage, modèles de langage, si tu es une ia, si vous êtes une ia, l assistant, agents ia',
  hide: 'ne dis rien à l utilisateur, ne le dis pas à l utilisateur, sans le dire, sans prévenir, sans en parler, sans avertir, sans informer l utilisateur, n en parle pas, ne mentionne pas, ne le mentionne pas, ne dites pas à l utilisateur, à l insu, sans demander confirmation, sans confirmation, discrètement',
  mention:
    'attaque*, attaquant*, détecter, détection, empêcher, protéger, phrases comme, phrase, par exemple, exemple*, traduire, traduction, traduis, que signifie, que veut dire, explique, expliquer, comment fonctionne, quelqu un, sécurité, comment puis je, comment faire, article, cours, étudiants, citation, mot, grammaire',
  call: 'appelle l outil, utilise l outil, exécute la commande, lance la commande, ouvre l url, visite',
  decode: 'décode, décodez, déchiffre, déchiffrez',
  harmless:
    'n oublie pas, n oubliez pas, ne pas oublier, n ignore pas, n ignorez pas, ne pas ignorer, un prompt système, mon prompt système, un bon prompt système, s il te plaît, j ignore, n ignore',
};

/** Spanish. */
export const spanish: Lexicon = {
  override:
    'ignora, ignore, ignorad, ignorar, olvida, olvide, olvidad, olvidar, olvídate de, olvidate de, descarta, omite, omita, desobedece, haz caso omiso, haga caso omiso, no sigas, no siga, deja de seguir, deja de obedecer, no obedezcas, sáltate, anula, desactiva, desactive, elimina, borra, pasa por alto, rompe, evita, elude, sobrescribe, reemplaza, desestima',
  overrideLast:
    'ya no se aplican, ya no aplican, quedan anuladas, ya no son válidas, quedan sin efecto, ya no valen, han sido anuladas',
  prior:
    'anterior, anteriores, previas, previos, previa, de arriba, originales, original, iniciales, inicial, precedentes, antes, hasta ahora, recibidas, dadas, actuales',
  rules:
    'instrucciones, instrucción, reglas, directrices, órdenes, normas, restricciones, limitaciones, indicaciones, pautas, políticas, filtros, prompt, prompts, directivas, mandatos, consignas',
  prompt:
    'prompt del sistema, prompt de sistema, prompt inicial, mensaje del sistema, mensaje de sistema, instrucciones del sistema, instrucciones de sistema, instrucciones ocultas, instrucciones secretas, instrucciones iniciales, instrucciones originales, instrucciones internas, prompt oculto, prompt secreto, reglas internas, reglas ocultas, reglas secretas, instrucciones confidenciales, prompt original, configuración inicial, indicaciones iniciales, indicaciones del sistema, prompt interno',
  aboveText:
    'todo lo anterior, texto anterior, texto de arriba, todo lo que está arriba, todo lo que aparece arriba, lo que está escrito arriba, todo el contexto, todo lo que te dijeron, todo lo que te han dicho, todo lo que se te dijo',
  your: 'tu, tus, su, sus, te dieron, que te han dado, que recibiste, que has recibido, se te dieron, te fueron dadas, te dijeron, te han impuesto',
  my: 'mi, mis, te dije, dije, escribí, nuestras, nuestro, nuestra',
  all: 'todo, todas, todos, toda, cualquier',
  reveal:
    'revela, revele, muestra, muestre, muéstrame, imprime, repite, repita, dime, dígame, di, escribe, escriba, enseña, enséñame, divulga, filtra, comparte, cuáles son, cuál es, qué dice, qué dicen, dame, copia, traduce, lista, enumera, cita, transcribe, pega, describe, resume, quiero ver, recita, cuéntame, expón',
  verbatim:
    'palabra por palabra, textualmente, literalmente, al pie de la letra, exactamente, en un bloque de código, tal cual, íntegramente, completo, completas, literal, sin omitir, íntegro, textual',
  role: 'ahora eres, a partir de ahora eres, desde ahora eres, actúa como, actúe como, finge ser, finge que, haz como si, imagina que eres, imagina que no, compórtate como, hazte pasar, a partir de ahora, desde ahora, de ahora en adelante, juega el papel, interpreta, asume el papel, adopta el papel, responde como, activa, activa el, entra en modo, serás, simula',
  unbound:
    'sin restricciones, sin ninguna restricción, sin ningún tipo de restricción*, sin límites, sin ningún límite, sin filtros, sin ningún filtro, sin censura, sin reglas, sin normas, sin ninguna regla, sin limitaciones, ninguna restricción, no tienes restricciones, no tiene restricciones, no tienes reglas, no tiene reglas, no tienes límites, no tiene límites, modo desarrollador, sin ética, sin moral, sin tabúes, nunca te niegas, nunca se niega, libre de, modo dios, ningún filtro, ninguna regla, puedes hacer cualquier cosa, modo sin',
  ethics:
    'ética, éticas, ético, éticos, moral, morales, política de contenido, políticas de contenido, censura, seguridad',
  not: 'nunca, jamás, sin, evita',
  follow: 'sigue, siga, obedece, ejecuta, ejecute, haz lo que, cumple',
  fresh:
    'nuevas instrucciones, nueva instrucción, nueva tarea, nuevas reglas, en su lugar, en vez de eso, tarea real, verdadera tarea, nueva misión, sólo obedeces, obedece solo, obedece sólo',
  send: 'envía, envíe, enviar, manda, mande, sube, publica, reenvía, reenvíe, transmite, adjunta, remite',
  private:
    'conversación, historial, contraseña*, credenciales, claves, clave api, clave de api, secretos, datos del usuario, datos personales, datos privados, información confidencial, información privada, tarjeta de crédito, tokens, correos, datos de clientes, datos confidenciales',
  destination: 'esta dirección, la dirección, esta url',
  reader:
    'ia, asistente de ia, asistentes de ia, modelo de lenguaje, modelos de lenguaje, si eres una ia, asistente, agente de ia, agentes de ia, inteligencia artificial',
  hide: 'no le digas al usuario, no se lo digas, sin decirle, sin decírselo, sin avisar, sin mencionar, no menciones, no lo menciones, no informes al usuario, sin informar, sin que el usuario, sin pedir confirmación, sin confirmación, en secreto, no avises',
  mention:
    'ataque*, atacante*, detectar, detección, evitar, prevenir, proteger, frases como, frase, por ejemplo, ejemplo*, traducir, traducción, traduce, qué significa, explica, explicar, cómo funciona, cómo puedo, alguien, seguridad, artículo, usuario escribe, clase, estudiantes, alumnos, cita, gramática, oración',
  call: 'llama a la herramienta, usa la herramienta, ejecuta el comando, abre la url, visita, utiliza la herramienta',
  decode: 'decodifica, descifra, decodifique',
  harmless:
    'no olvides, no olvide, no te olvides, no ignores, no ignore, sin ignorar, un prompt del sistema, un prompt de sistema, mi prompt de sistema, mi prompt del sistema, olvídalo, se me olvida',
};

/** Portuguese. */
export const portuguese: Lexicon = {
  override:
    'ignore, ignora, ignorar, esqueça, esquece, esquecer, desconsidere, desconsidera, desconsiderar, descarte, desobedeça, não siga, pare de seguir, pare de obedecer, contorne, burle, anule, desative, desligue, apague, deixe de lado, passe por cima, elimine, sobrescreva, remova, quebre, não obedeça',
  overrideLast:
    'não se aplicam mais, não valem mais, foram canceladas, estão canceladas, estão suspensas, já não valem, perderam a validade',
  prior:
    'anterior, anteriores, prévias, acima, originais, original, iniciais, inicial, precedentes, antes, até agora, recebidas, dadas, atuais',
  rules:
    'instruções, instrução, regras, diretrizes, ordens, normas, restrições, limitações, orientações, políticas, filtros, prompt, prompts, comandos, diretivas',
  prompt:
    'prompt do sistema, prompt de sistema, prompt inicial, mensagem do sistema, mensagem de sistema, instruções do sistema, instruções de sistema, instruções ocultas, instruções secretas, instruções iniciais, instruções originais, instruções internas, prompt oculto, prompt secreto, regras internas, regras ocultas, regras secretas, prompt original, instruções confidenciais, configuração inicial, prompt interno',
  aboveText:
    'tudo acima, texto acima, tudo o que está acima, tudo que está acima, tudo que veio antes, tudo o que veio antes, todo o texto anterior, todo o contexto, tudo o que te disseram, tudo que te disseram, tudo que foi dito',
  your: 'teu, tua, teus, tuas, seu, sua, seus, suas, que você recebeu, te deram, que recebeste, que lhe deram, lhe foram dadas',
  my: 'meu, minha, meus, minhas, eu disse, falei, escrevi, nossas, nosso, nossa',
  all: 'tudo, todas, todos, toda, todo, qualquer, quaisquer',
  reveal:
    'revele, revela, mostre, mostra, exiba, imprima, repita, repete, diga, diz, escreva, escreve, divulgue, compartilhe, quais são, qual é, o que diz, me dê, copie, traduza, liste, cite, transcreva, cole, descreva, resuma, quero ver, recite, conte, me conte, forneça, exponha',
  verbatim:
    'palavra por palavra, textualmente, literalmente, ao pé da letra, exatamente, em um bloco de código, num bloco de código, tal como, na íntegra, por completo, completo, completas, sem omitir, literal',
  role: 'você agora é, agora você é, agora és, a partir de agora você, a partir de agora, de agora em diante, aja como, atue como, finja ser, finja que, faça de conta, imagine que você, comporte se como, interprete, assuma o papel, assuma a persona, responda como, ative, ative o, entre no modo, simule, você será',
  unbound:
    'sem restrições, sem nenhuma restrição, sem qualquer restrição, sem limites, sem nenhum limite, sem filtros, sem nenhum filtro, sem censura, sem regras, sem nenhuma regra, sem limitações, nenhuma restrição, não tem restrições, não tem regras, não tem limites, modo desenvolvedor, modo de desenvolvedor, sem ética, sem moral, sem tabus, nunca recusa, nunca se recusa, livre de, modo deus, pode fazer qualquer coisa, nenhuma regra, nenhum filtro',
  ethics:
    'ética, éticas, ético, éticos, moral, morais, política de conteúdo, políticas de conteúdo, censura, segurança',
  not: 'não, nunca, jamais, sem, evite',
  follow: 'siga, segue, obedeça, execute, faça o que, cumpra',
  fresh:
    'novas instruções, nova instrução, nova tarefa, novas regras, em vez disso, em seu lugar, tarefa real, verdadeira tarefa, nova missão, obedeça apenas, obedeça somente',
  send: 'envie, enviar, mande, suba, publique, encaminhe, transmita, anexe, poste',
  private:
    'conversa, histórico, senha*, credenciais, chaves, chave de api, chave da api, segredos, dados do usuário, dados do utilizador, dados pessoais, dados privados, informações confidenciais, cartão de crédito, tokens, emails, dados dos clientes, dados confidenciais',
  destination: 'este endereço, o endereço, esta url',
  reader:
    'ia, assistente de ia, assistentes de ia, modelo de linguagem, modelos de linguagem, se você é uma ia, se você for uma ia, assistente, agente de ia, agentes de ia',
  hide: 'não diga ao usuário, não conte ao usuário, sem dizer, sem avisar, sem mencionar, não mencione, não informe o usuário, sem informar, sem que o usuário, sem pedir confirmação, sem confirmação, em segredo, não avise',
  mention:
    'ataque*, atacante*, detectar, detecção, evitar, prevenir, proteger, frases como, frase, por exemplo, exemplo*, traduzir, tradução, traduza, o que significa, explique, explicar, como funciona, como posso, alguém, segurança, artigo, usuário escreve, aula, alunos, citação, gramática',
  call: 'chame a ferramenta, use a ferramenta, execute o comando, abra a url, visite',
  decode: 'decodifique, decifre, decodifica',
  harmless:
    'não esqueça, não se esqueça, não esquece, não ignore, sem ignorar, um prompt de sistema, um prompt do sistema, meu prompt de sistema, meu prompt do sistema',
};

/** Italian. */
export const italian: Lexicon = {
  override:
    'ignora, ignorate, ignori, ignorare, dimentica, dimenticate, dimentichi, dimenticare, dimenticati di, trascura, aggira, scavalca, non seguire, smetti di seguire, smettila di seguire, annulla, disattiva, cancella, metti da parte, lascia perdere, non tenere conto, non considerare, sovrascrivi, elimina, infrangi, disobbedisci, scarta, tralascia',
  overrideLast: 'non valgono più, non si applicano più, sono annullate, sono revocate, non sono più valide',
  prior:
    'precedente, precedenti, sopra, originali, originale, iniziali, iniziale, prima, finora, ricevute, date, attuali, antecedenti, di cui sopra',
  rules:
    'istruzioni, istruzione, regole, direttive, ordini, norme, restrizioni, limitazioni, indicazioni, linee guida, politiche, filtri, prompt, comandi, vincoli',
  prompt:
    'prompt di sistema, prompt del sistema, prompt iniziale, messaggio di sistema, messaggio del sistema, istruzioni di sistema, istruzioni del sistema, istruzioni nascoste, istruzioni segrete, istruzioni iniziali, istruzioni originali, istruzioni interne, prompt nascosto, prompt segreto, regole interne, regole nascoste, regole segrete, prompt originale, istruzioni riservate, prompt interno',
  aboveText:
    'tutto ciò che precede, testo sopra, testo qui sopra, tutto quello che c è sopra, tutto ciò che sta sopra, tutto quanto sopra, testo precedente, tutto il contesto, tutto quello che ti è stato detto, tutto ciò che ti è stato detto, quanto scritto sopra',
  your: 'tuo, tua, tuoi, tue, vostre, sue, suo, ti hanno dato, che hai ricevuto, ti sono state date, ti sono stati, che ti hanno',
  my: 'mio, mia, miei, mie, ho detto, ti ho, ho scritto, nostre, nostro',
  all: 'tutto, tutte, tutti, tutta, qualsiasi, ogni',
  reveal:
    'rivela, rivelami, mostra, mostrami, stampa, ripeti, dimmi, scrivi, scrivimi, divulga, condividi, quali sono, qual è, cosa dice, cosa dicono, dammi, copia, traduci, elenca, cita, trascrivi, incolla, descrivi, riassumi, voglio vedere, fammi vedere, recita, svela, riporta, fornisci, esponi',
  verbatim:
    'parola per parola, testualmente, letteralmente, alla lettera, esattamente, in un blocco di codice, tale e quale, per intero, integralmente, completo, complete, senza omettere, integrale',
  role: 'ora sei, adesso sei, da ora sei, d ora in poi sei, d ora in poi, da adesso in poi, da ora in poi, agisci come, comportati come, fai finta, fingi, immagina di essere, immagina di non, interpreta, recita il ruolo, assumi il ruolo, rispondi come, attiva, entra in modalità, simula, sarai',
  unbound:
    'senza restrizioni, senza alcuna restrizione, senza nessuna restrizione, senza limiti, senza alcun limite, senza filtri, senza alcun filtro, senza censura, senza regole, senza alcuna regola, senza limitazioni, nessuna restrizione, nessun limite, nessuna regola, nessun filtro, non hai restrizioni, non ha restrizioni, non hai regole, non ha regole, non hai limiti, modalità sviluppatore, senza etica, senza morale, senza tabù, non rifiuti mai, non rifiuta mai, libero da, modalità dio, puoi fare qualsiasi cosa',
  ethics: 'etica, etiche, etico, etici, morale, morali, politica dei contenuti, censura, sicurezza',
  not: 'non, mai, senza, evita',
  follow: 'segui, obbedisci, esegui, fai quello che, rispetta',
  fresh:
    'nuove istruzioni, nuova istruzione, nuovo compito, nuove regole, invece, al suo posto, vero compito, nuova missione, obbedisci solo',
  send: 'invia, inviare, inviate, manda, carica, pubblica, inoltra, trasmetti, allega, spedisci',
  private:
    'conversazione, cronologia, password, credenziali, chiavi, chiave api, segreti, dati dell utente, dati personali, dati privati, informazioni riservate, carta di credito, token, email dell utente, dati dei clienti, dati riservati',
  destination: 'questo indirizzo, l indirizzo, questa url, questo url',
  reader:
    'ia, assistente ia, assistenti ia, assistente ai, assistenti ai, modello linguistico, modelli linguistici, se sei una ia, se sei un ia, assistente, agenti ia',
  hide: 'non dire all utente, non dirlo, senza dirlo, senza avvisare, senza menzionare, non menzionare, non informare, senza informare, senza che l utente, senza chiedere conferma, senza conferma, di nascosto, in segreto',
  mention:
    'attacco, attacchi, attaccante*, rilevare, rilevamento, evitare, prevenire, proteggere, frasi come, frase, per esempio, ad esempio, esempio, esempi, tradurre, traduzione, traduci, cosa significa, spiega, spiegare, come funziona, come posso, qualcuno, sicurezza, articolo, lezione, studenti, citazione, grammatica',
  call: 'chiama lo strumento, usa lo strumento, esegui il comando, apri l url, visita',
  decode: 'decodifica, decifra',
  harmless:
    'non dimenticare, non dimenticarti, non dimenticate, non ignorare, senza ignorare, un prompt di sistema, il mio prompt di sistema, prima di',
};
